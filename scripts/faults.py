"""Kill a process that learns, again and again, and see what its file holds.

    python scripts/faults.py --kills 10000

A child opens or makes a classifier, learns and unlearns documents and texts without a label, undoes, merges, compacts,
writes pages about its mistakes, and acknowledges every call that has returned.  At a random moment it is killed.  Then
the file must open, and hold exactly what was acknowledged, with or without the one call that was under way; every
document is in the log as often as it was learned; no change or delta is missing; an empty file that something was
merged into has its model, or is empty; weights are those that training gives again; and nothing lies beside the file.
Every other file lives on and is killed again.

What the child does follows from a seed: both sides know it, and an acknowledgement is one byte.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import bunrui
from bunrui import TextClassifier
from bunrui.evaluation import Evaluation
from bunrui.memory import document_digests
from bunrui.report import evaluation_page
from bunrui.store import schema, store
from bunrui.store.store import KEEPS

NAME = "mail.bunrui"
MOST_OPERATIONS = 25
MOST_DOCUMENTS = 60
WORDS = ["cheap", "pills", "noon", "meeting", "lunch", "無料", "料金", "会議", "🙂", "free"]
MODELS = ["binary-complement", "arow", "nbsvm"]
OTHER_MODEL = "multinomial"  # of the file that is merged
LABELS = [("spam",), ("ham",), ("ham", "spam"), ("news",)]

Document = tuple[str, tuple[str, ...]]  # a text without a label has none

# What the file holds that is merged.
MERGED: list[Document] = [("merged one 無料", ("spam",)), ("merged two", ("ham", "other"))]

ACKNOWLEDGED = b"."
# What SQLite is asked to do, by the byte that the child sends before it does it.
STATEMENTS = {
    b"B": ("BEGIN",),
    b"C": ("COMMIT",),
    b"D": ("DELETE",),
    b"I": ("INSERT", "UPDATE"),
    b"K": ("PRAGMA WAL_CHECKPOINT",),
    b"M": ("CREATE TABLE", "PRAGMA JOURNAL_MODE", "PRAGMA APPLICATION_ID"),
    b"P": ("PAGE",),  # no statement: the evaluation of documents that are learned
    b"V": ("VACUUM",),
}


# After which byte, and at most the how manyth of them, a child is killed.
MOMENTS = [(b"B", 8), (b"C", 8), (b"C", 8), (b"D", 12), (b"I", 20), (b"K", 2), (b"V", 2), (b"V", 2), (ACKNOWLEDGED, 12)]
MOMENTS += [(b"M", 3), (b"P", 3), (b"P", 3)]


class Operation(NamedTuple):
    """One call: what is done with which documents or labels, and the documents that are left then."""

    kind: str
    documents: list[Document]
    labels: tuple[str, ...]
    left: list[Document]


# What the child does


def operations(seed: int, keep: str, left: Sequence[Document]) -> Iterator[Operation]:
    """An endless history that begins with the documents `left`."""
    rng = random.Random(seed)
    left = list(left)
    before: list[Document] | None = None  # what an undo brings back
    while True:
        kinds = ["learn"] * 6 + ["batches", "compact"] * 2 + ["reopen"]
        labelled = [document for document in left if document[1]]
        kinds += ["unlearn"] * 3 if labelled else []
        kinds += ["relabel", "rename", "move", "drop"] if labelled and keep == "text" else []
        kinds += ["pool", "pool", "unpool"] if keep == "text" else []
        kinds += ["merge"] * 3 if not left else []
        kinds += ["page"] * 2 if keep == "text" and len({names for _, names in labelled}) > 1 else []
        kinds += ["undo"] * 2 if before is not None else []
        kind = rng.choice([*kinds, "merge"]) if len(left) < MOST_DOCUMENTS else "unlearn" if labelled else "unpool"
        documents: list[Document] = []
        labels: tuple[str, ...] = ()
        after = list(left)
        if kind in ("learn", "batches"):
            documents = [_document(rng, labelled) for _ in range(rng.choice([1, 1, 2, 5]))]
            after += documents
        elif kind == "unlearn":
            documents = rng.sample(labelled, min(len(labelled), rng.choice([1, 1, 2, 30])))
            for document in documents:
                after.remove(document)
        elif kind == "pool":
            documents = [(f"p{rng.getrandbits(32)} noon", ()) for _ in range(rng.choice([1, 3]))]
            after += documents
        elif kind == "unpool":
            documents = [document for document in left if not document[1]]
            after = labelled
        elif kind == "merge":
            after += MERGED
        elif kind == "page":
            documents = labelled
        elif kind == "undo":
            assert before is not None
            after = before
        elif kind == "relabel":
            documents, labels = [rng.choice(labelled)], rng.choice(LABELS)
            after = [(text, labels if text == documents[0][0] else old) for text, old in left]
        elif kind in ("rename", "move", "drop"):
            name, other = rng.choice(rng.choice(labelled)[1]), rng.choice(rng.choice(labelled)[1])
            labels = {"rename": (name, f"l{rng.getrandbits(32)}"), "move": (name, other), "drop": (name,)}[kind]
            if labels == (name, name):
                continue
            after = [(text, _without(old, *labels)) for text, old in left if old != (name,) or kind != "drop"]
        # What changes nothing is no transaction that an undo would take back.
        before = None if kind in ("compact", "reopen", "undo") or after == left else left
        left = after
        yield Operation(kind, documents, labels, list(left))


def _without(labels: tuple[str, ...], label: str, *other: str) -> tuple[str, ...]:
    """Labels without one of them, or with another in its place."""
    return tuple(sorted({*labels} - {label} | {*other})) if label in labels else labels


def _document(rng: random.Random, labelled: list[Document]) -> Document:
    if labelled and rng.random() < 0.1:
        return rng.choice(labelled)  # learned twice
    words = rng.choices(WORDS, k=rng.randrange(6))
    return " ".join([f"d{rng.getrandbits(32)}", *words]), rng.choice(LABELS)


def run_child(path: str, seed: int, keep: str, left: Sequence[Document], other: str, pipe: int) -> None:
    """Do operations, and write a byte for every statement and every call that has returned."""
    store._MOST_DELTAS = 4  # fold often

    def connect(path: str, **options: Any) -> sqlite3.Connection:
        db = plain_connect(path, **options)
        db.execute("PRAGMA wal_autocheckpoint = 8")
        db.set_trace_callback(tell)
        return db

    def tell(statement: str) -> None:
        for mark, starts in STATEMENTS.items():
            if statement.lstrip().upper().startswith(starts):
                os.write(pipe, mark)

    plain_connect = schema.connect
    schema.connect = store.connect = connect  # type: ignore[attr-defined]
    merged = bunrui.open(other)
    # A trained model writes its weights after the change: another moment to be killed.
    model = MODELS[seed % len(MODELS)] if keep == "text" else "auto"
    clf = bunrui.open(path) if os.path.exists(path) else bunrui.create(path, model, keep=keep)
    os.write(pipe, ACKNOWLEDGED)
    for operation in islice(operations(seed, keep, left), MOST_OPERATIONS):
        texts = [text for text, _ in operation.documents]
        labels = [labels for _, labels in operation.documents]
        if operation.kind == "learn":
            clf.learn(texts, labels)
        elif operation.kind == "batches":
            with clf.learning() as session:
                for text, names in operation.documents:
                    session.add([text], [names])
        elif operation.kind == "unlearn":
            clf.unlearn(texts, labels)
        elif operation.kind == "pool":
            with clf.learning() as session:  # whatever the model: what counts is the file
                session.add_unlabelled(texts)
        elif operation.kind == "unpool":
            clf.unlearn_unlabelled(texts)
        elif operation.kind == "undo":
            clf.undo()
        elif operation.kind == "merge":
            clf.merge(merged)
        elif operation.kind == "page":
            os.write(pipe, b"P")
            write_page(clf, texts, labels)
        elif operation.kind == "compact":
            clf.compact()
        elif operation.kind == "relabel":
            clf.relabel(operation.labels, texts=texts)
        elif operation.kind == "rename":
            clf.rename_label(*operation.labels)
        elif operation.kind == "move":
            clf.move_label(*operation.labels)
        elif operation.kind == "drop":
            clf.drop_label(*operation.labels)
        else:
            clf.close()
            clf = bunrui.open(path)
        os.write(pipe, ACKNOWLEDGED)
    clf.close()


def write_page(clf: Any, texts: list[str], labels: list[tuple[str, ...]]) -> None:
    """A page that explains why learned documents have other labels: the file does not change."""
    classes, shares = clf.classes_, clf.predict_proba(texts)
    answers = classes[shares.argmin(axis=1)]  # wrong ones
    evaluation = Evaluation(true=labels, predictions=answers, probabilities=shares, classes=classes)
    evaluation_page(evaluation, texts=texts, classifier=clf, is_learned=True)


# What the parent sees


@dataclass
class Figures:
    """What came of all the kills."""

    kills: int = 0
    exits: int = 0
    kept: int = 0  # the call under way is in the file
    lost: int = 0  # it is not, nor need it be
    same: int = 0  # it makes no difference to the documents
    orphans: int = 0  # temporary files of a creation that was killed
    most_kills: int = 0  # of one file
    seconds: float = 0.0
    by_operation: Counter[str] = field(default_factory=Counter)
    by_statement: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


class Killed(NamedTuple):
    """How far a child got."""

    acknowledged: int
    statement: str
    by_us: bool


def kill_one(rng: random.Random, path: str, seed: int, keep: str, left: Sequence[Document], other: str) -> Killed:
    """Start a child and kill it: after some time, or shortly after it began a statement of some kind."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(ours)
            run_child(path, seed, keep, left, other, theirs)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(theirs)
    if rng.random() < 0.4:
        seen = _read(ours, until=None, seconds=rng.uniform(0, 0.04))
    else:
        wanted, most = rng.choice(MOMENTS)
        seen = _read(ours, until=(wanted, rng.randint(1, most)), seconds=2.0)
        time.sleep(rng.choice([0, rng.uniform(0, 0.0005), rng.uniform(0, 0.005)]))
    os.kill(child, signal.SIGKILL)
    seen += _read(ours, until=None, seconds=2.0)
    os.close(ours)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise AssertionError("the child ended with an error")
    last = seen.replace(ACKNOWLEDGED, b"")[-1:]
    statement = "between calls" if seen.endswith(ACKNOWLEDGED) else STATEMENTS[last][0] if last else "none"
    return Killed(seen.count(ACKNOWLEDGED), statement, os.WIFSIGNALED(status))


def _read(pipe: int, until: tuple[bytes, int] | None, seconds: float) -> bytes:
    """Bytes from a child until it ends, or the time is over, or a byte came so many times."""
    end = time.monotonic() + seconds
    seen = b""
    while until is None or seen.count(until[0]) < until[1]:
        if not select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
            break
        more = os.read(pipe, 1 << 12)
        if not more:
            break
        seen += more
    return seen


def check(path: str, states: Sequence[Sequence[Document]]) -> int:
    """Which of these lists of documents a file holds; an AssertionError if it is none of them.

    The first state is looked at last: where the call under way changed nothing, it is not said to be lost.
    """
    with bunrui.open(path) as clf:
        found = [k for k, left in enumerate(states) if clf.counts == _counts(tuple(left))]
        assert found, f"the counts of {clf} are those of no state: {[len(left) for left in states]} documents"
        with closing(store.Store.open(path, read_only=True)) as file:
            pages = file.db.execute("PRAGMA integrity_check").fetchall()
            assert pages == [("ok",)], pages
        if clf.keep != "nothing":
            logged = _logged(clf)
            found = [k for k in found if logged == _expected(states[k], clf.keep)]
            assert found, f"the log has other documents than the counts: {logged}"
        report = clf.check()
        assert report.is_right, report.wrong
        entries = [entry for entry in clf.history() if not entry.undone]
        if clf.keep != "text" and not any(entry.kind == "compact" for entry in entries):  # which clears notes
            is_taken = any(entry.kind == "merge" and "settings_before" in entry.note for entry in entries)
            assert clf.model == (OTHER_MODEL if is_taken else "auto"), (clf.model, entries)
    rest = [name for name in os.listdir(os.path.dirname(path)) if name != NAME and not _is_temporary(name)]
    assert not rest, f"left beside the file: {rest}"
    return found[-1]


@lru_cache(16)
def _counts(documents: tuple[Document, ...]) -> Any:
    clf = TextClassifier()
    documents = tuple(document for document in documents if document[1])
    if documents:
        clf.learn([text for text, _ in documents], [labels for _, labels in documents])
    return clf.counts


def _logged(clf: Any) -> Counter[Any]:
    """What the log has: text, or digest, and labels."""
    with clf.memory.documents.at_rest():
        pool = Counter((text, ()) for text in clf.memory.pool.texts().values())
    return pool + Counter((one.digest if one.text is None else one.text, tuple(one.labels)) for one in clf.documents())


def _expected(documents: Sequence[Document], keep: str) -> Counter[Any]:
    texts = [text for text, _ in documents]
    contents = (
        texts if keep == "text" else [digest.tobytes().hex() for digest in document_digests(texts)] if texts else []
    )
    return Counter(zip(contents, (labels for _, labels in documents), strict=True))


def _is_temporary(name: str) -> bool:
    return name.startswith(".") and ".bunrui" in name


def run(kills: int, seed: int, folder: str) -> Figures:
    """Kill so many children; stop at the first file that is not what it should be."""
    os.environ["BUNRUI_THREADS"] = "1"
    rng = random.Random(seed)
    figures = Figures()
    start = time.monotonic()
    other = os.path.join(folder, "other.bunrui")
    with bunrui.create(other, OTHER_MODEL) as clf:
        clf.learn([text for text, _ in MERGED], [labels for _, labels in MERGED])
    told = 0
    while figures.kills < kills and not figures.failures:
        _one_file(rng, folder, other, figures)
        if figures.kills - told >= 500:
            told = figures.kills
            print(f"{told:,} kills, {told / (time.monotonic() - start):.0f} a second", file=sys.stderr)
    figures.seconds = time.monotonic() - start
    return figures


def _one_file(rng: random.Random, folder: str, other: str, figures: Figures) -> None:
    """The life of one file, which is killed until it is lucky no more."""
    place = tempfile.mkdtemp(dir=folder)
    path = os.path.join(place, NAME)
    keep = rng.choice(KEEPS)
    left: list[Document] = []
    for n in range(1, 100):
        seed = rng.getrandbits(32)
        started = os.path.exists(path)
        killed = kill_one(rng, path, seed, keep, left, other)
        history = list(islice(operations(seed, keep, left), MOST_OPERATIONS))
        # The first acknowledgement is that of the opening.
        done = history[: max(killed.acknowledged - 1, 0)]
        flight = history[len(done)] if killed.acknowledged and len(done) < len(history) else None
        kind = flight.kind if flight else "end" if killed.acknowledged else "open" if started else "create"
        figures.kills += killed.by_us
        figures.exits += not killed.by_us
        figures.by_operation[kind] += 1
        figures.by_statement[killed.statement] += 1
        figures.most_kills = max(figures.most_kills, n)
        states = [done[-1].left if done else left]
        states += [flight.left] if flight else []
        try:
            if not os.path.exists(path):
                assert not killed.acknowledged and not started, "the file has gone"
                break
            which = check(path, states)
        except Exception as error:
            figures.failures.append(f"{path}, killed in {kind} ({killed}): {type(error).__name__}: {error}")
            return
        if len(states) == 2:
            unchanged = Counter(states[0]) == Counter(states[1])
            figures.same += unchanged
            figures.kept += bool(which and not unchanged)
            figures.lost += not which
        left = list(states[which])
        if rng.random() < 0.5:
            break
    figures.orphans += sum(map(_is_temporary, os.listdir(place)))
    shutil.rmtree(place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", help="where the files are made (default: the system's folder for temporary files)")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(dir=options.folder)
    figures = run(options.kills, options.seed, folder)
    print(json.dumps(vars(figures), indent=1))
    if figures.failures:
        raise SystemExit(1)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
