"""Check a file: read everything that it keeps, and count the texts again where it keeps them."""

from __future__ import annotations

from typing import NamedTuple

from bunrui.counts import Counts
from bunrui.engines.labelgroups import label_sets
from bunrui.errors import BunruiError
from bunrui.memory import Parameters, document_digests
from bunrui.models.kinds import is_kept
from bunrui.store.file import File, find_weights
from bunrui.store.pool import count_wrong
from bunrui.store.store import Store
from bunrui.store.weights import read_weights


class Report(NamedTuple):
    """The parts of a file that are right, those that are wrong, and those that could not be checked."""

    right: list[str]
    wrong: list[str]
    unknown: list[str]

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong


def check(file: File) -> Report:
    """Check the file behind a classifier."""
    store = file.store
    report = Report([], [], [])
    with file.use(), store.reading():
        problems = [problem for (problem,) in store.db.execute("PRAGMA integrity_check(10)")]
        _say(report, problems == ["ok"], "the pages of the file", "; ".join(problems))
        try:
            store.check_rows()
            what = "settings, labels and changes: checksums"
            if store.is_sealed:
                report.right.append(what)
            else:
                report.unknown.append(f"{what}: bunrui adds them when it first opens an older file to change it")
            missing = _find_missing(store)
            _say(report, not missing, "the chain of changes", missing)
            counts, _ = store.load()
            report.right.append(f"snapshot and deltas: checksums, totals; features: {counts.n_features:,}")
            if store.keep == "nothing":
                report.unknown.append("the counts, from their documents: the file keeps none")
            else:
                _check_log(file, counts, report)
            n_texts = len(file.memory.pool)
            if store.keep == "text" and n_texts:
                n_wrong = count_wrong(store)
                _say(report, not n_wrong, f"texts without a label: {n_texts:,}", f"{n_wrong:,} do not fit")
            if report.is_right:
                _check_weights(file, counts, report)
        except BunruiError as error:
            report.wrong.append(str(error))
    return report


def _find_missing(store: Store) -> str:
    """The change or delta that is missing, or too many: numbers have no gaps, and the last ones are noted."""
    db, end, noted, snapshot = store.db, store.end(), store.noted_end(), store.snapshot()
    for table, what, last in ("transactions", "change", end.tx), ("deltas", "delta", end.delta):
        (n_rows,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
        if n_rows != last:
            return f"a {what} is missing: there are {n_rows:,}, and the last one has number {last:,}"
    if end.tx < noted.tx:
        return f"the last change is missing: there were {noted.tx:,}, and there are {end.tx:,}"
    # Older versions note nothing: they may have undone some, or folded all.
    if end[:2] == noted[:2] and snapshot < end.tx and end.delta < noted.delta:
        return f"the last delta is missing: there were {noted.delta:,}, and there are {end.delta:,}"
    of_change = "SELECT min(tx) FROM transactions WHERE undone IS NULL AND n_docs AND kind <> 'rename' AND tx > ?"
    (tx,) = db.execute(f"{of_change} AND tx NOT IN (SELECT tx FROM deltas)", (snapshot,)).fetchone()
    if tx is not None:
        return f"the delta of change {tx:,} is missing"
    undone = "SELECT tx FROM transactions WHERE undone IS NOT NULL"
    (tx,) = db.execute(f"SELECT min(tx) FROM deltas WHERE NOT is_snapshot AND tx IN ({undone})").fetchone()
    return "" if tx is None else f"change {tx:,} was undone, and its delta is there"


def _check_log(file: File, counts: Counts, report: Report) -> None:
    store = file.store
    # Only the blobs of these rows have checksums.
    if store.db.execute("SELECT 1 FROM documents WHERE tx NOT IN (SELECT tx FROM transactions)").fetchone():
        raise store.unpacker().damaged("the log has blocks of changes that there never were")
    names, n_wrong = store.labels(), 0
    again = Counts(counts.fingerprint)
    for _, block in store.log.blocks():
        if store.keep == "text":
            documents = block.documents()
            n_wrong += int((document_digests(documents) != block.digests).sum())
            labels = [[names[k] for k in block.label_sets[code]] for code in block.codes.tolist()]
            again.add(file.classifier.count_sets(documents, label_sets(labels, len(documents), again.label_ids)))
    n_docs, found = store.log.doc_counts()
    expected = {label: n for label, (n, _, _) in counts.class_totals().items()}
    _say(report, n_docs == counts.n_docs, f"documents in the log: {n_docs:,}", f"{counts.n_docs:,} in the counts")
    _say(report, found == expected, "documents of each label", "the log has others than the counts")
    if store.keep == "digests":
        report.unknown.append("the counts and digests, from their texts: the file keeps digests only")
        return
    _say(report, not n_wrong, "digests of the texts", f"{n_wrong:,} do not fit")
    _say(report, again == counts, "the counts, counted again from the texts", "the texts give others")


def _check_weights(file: File, counts: Counts, report: Report) -> None:
    """Train the model again where the file has its weights, and compare them bit by bit."""
    store, classifier = file.store, file.classifier
    options, analyzer = classifier.get_params(), classifier.text_analyzer
    if not is_kept(classifier.model):
        return
    from bunrui.models.trained import Trainer

    stored = find_weights(store, options, counts)
    if stored is None:
        return
    goes_on = store.keep == "text" and classifier.model == "arow"
    if not stored.is_current and not goes_on:
        report.unknown.append("the weights: documents were learned since, and the next question trains the model")
        return
    weights, trainer = read_weights(store, stored.heading), Trainer(options, analyzer, counts)
    found = trainer.restore(weights, stored.mark, is_current=stored.is_current, to_learn=goes_on)
    if store.keep != "text":
        report.right.append("weights: checksums, bounds")
        report.unknown.append("the weights, trained again: the file keeps no documents")
        return
    again = trainer.train(file.memory.documents, None)
    if not stored.is_current:
        found = trainer.train(file.memory.documents, found)
    is_same = _are_same(found.arrays(to_learn=True), again.arrays(to_learn=True))
    _say(report, is_same, "the weights, trained again from the texts", "the texts give others: train the model again")


def _are_same(one: Parameters | None, other: Parameters | None) -> bool:
    """Whether two models have the same numbers, to the last bit."""
    if one is None or other is None:
        return one is other
    names = set(one.arrays)
    return (
        one.facts == other.facts
        and names == set(other.arrays)
        and all(one.arrays[name].tobytes() == other.arrays[name].tobytes() for name in names)
    )


def _say(report: Report, is_right: bool, what: str, problem: str) -> None:
    if is_right:
        report.right.append(what)
    else:
        report.wrong.append(f"{what}: {problem}")
