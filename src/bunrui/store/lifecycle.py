"""Change learned documents: take them back, give them other labels; rename, drop and move labels; page through them.

Each change is one transaction.  A document that changes is taken out of the log and entered anew.  The counts lose its
old share and get a new one, counted from its text.  Where the file keeps no text, labels can still be dropped and moved
as long as no document has several.  A `Selection` says which documents change, by the columns of the log.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.cells import Integers
from bunrui.counts import Label
from bunrui.engines.labelgroups import check_new, label_sets
from bunrui.errors import LabelError, LabelSetError, MismatchError, OptionError, StoreError, UnlearnError
from bunrui.labels import as_list, check_types, is_known, plain
from bunrui.memory import DIGEST, document_digests, key_words
from bunrui.phrases import readable, some
from bunrui.store.file import File
from bunrui.store.log import LAST, Block, Heading, Words, id_words
from bunrui.store.sessions import Sum
from bunrui.store.store import Store
from bunrui.store.transaction import History, Transaction

# The labels of a document after a change, from those before; empty when it is unlearned.
Change = Callable[[list[Label]], Sequence[Label]]


def change(
    file: File,
    transaction: Transaction,
    choice: Selection,
    new_labels: Change,
    texts: dict[bytes, Any] | None = None,
    *,
    only_log: bool = False,
) -> None:
    """Change the labels of the documents that are chosen, in a transaction.

    `texts` has the documents by digest, for files that do not keep them.  With `only_log`, the counts stay: the
    caller changes them.
    """
    store = file.store
    names = store.labels()
    taken, added = Sum(file.classifier), Sum(file.classifier)
    for number, places, block in pick(store, choice):
        block = block.tidy()  # `new_labels` may refuse labels: it sees only those of chosen documents
        before = [sorted(names[k] for k in labels) for labels in block.label_sets]
        after = [sorted(set(new_labels(labels))) for labels in before]
        moved = np.array([a != b for a, b in zip(before, after, strict=True)], bool)[block.codes]
        if not moved.any():
            continue
        block, places = block.pick(np.flatnonzero(moved)), places[moved]
        left = np.array([bool(labels) for labels in after], bool)[block.codes]
        transaction.remove({number: places.tolist()})
        transaction.n_docs += len(places)
        if left.any():
            transaction.log(transaction.with_labels(block.pick(np.flatnonzero(left)), after).row())
        if only_log:
            continue
        documents = _documents(block, texts, store.path)
        taken.add(documents, taken.sets([before[code] for code in block.codes], block.n_docs))
        if left.any():
            rows = np.flatnonzero(left)
            labels = [after[code] for code in block.codes[rows]]
            added.add([documents[row] for row in rows], added.sets(labels, len(rows)))
    taken.finish(transaction, -1)
    added.finish(transaction, 1)


def one_for_one(label: Label) -> Change:
    """Give documents this label in place of the one that they have."""

    def after(labels: list[Label]) -> list[Label]:
        if len(labels) > 1:
            problem = f"a document has {len(labels)} labels, and one would replace them all"
            raise LabelSetError(problem, hint="give all that it should have as a list")
        return [label]

    return after


def relabel_each(file: File, changes: Iterable[tuple[str, Label | Sequence[Label], Label | Sequence[Label]]]) -> int:
    """Give documents other labels, by digest and the labels that they have."""
    file.store.check_keeps_documents()
    groups: dict[tuple[tuple[Label, ...], tuple[Label, ...]], list[str]] = defaultdict(list)
    had, given = set(), set()
    for digest, *both in changes:
        has, gets = (tuple(sorted(set(check_labels(as_list(labels))))) for labels in both)
        check_new(gets)
        for labels in (has, gets):
            check_types(labels, file.memory.counts.live.labels)
        if has != gets:
            groups[has, gets].append(digest)
            had.add((digest, has))
            given.add((digest, gets))
    if had & given:
        # One after the other would give both of them the same label.
        raise LabelError("a text that was learned twice should not swap its labels: leave both as they are")
    names = sorted({name for _, gets in groups for name in gets})
    with file.writing("relabel", labels=names) as transaction:
        for (has, gets), digests in groups.items():
            before = transaction.n_docs
            change(file, transaction, by_digests(digests), _if_it_has(has, gets))
            if transaction.n_docs - before < len(set(digests)):
                raise UnlearnError(f"some documents do not have the label {', '.join(map(str, has))!r} (any more)")
    return transaction.n_docs


def _if_it_has(has: Sequence[Label], gets: Sequence[Label]) -> Change:
    return lambda labels: gets if labels == list(has) else labels


def check_labels(names: Sequence[Label]) -> list[Label]:
    """Labels in Python's own types, if a document may have them."""
    label_sets([list(names)], 1, {})
    return [plain(name) for name in names]


def _documents(block: Block, texts: dict[bytes, Any] | None, path: str) -> list[Any]:
    if texts is not None:
        return [texts[digest.tobytes()] for digest in block.digests]
    if block.sizes is None:
        raise StoreError(f"{path} keeps no texts, so that their words are not known: give the texts of the documents")
    return block.documents()


def take_label(file: File, label: Label, to: Label | None = None) -> int:
    """Take a label from all documents: give them another one in its place, or unlearn those that have no other."""
    if label == to:
        raise LabelError(f"{label!r} cannot be moved to itself")
    store, label, to = file.store, plain(label), plain(to)
    kind, note = ("drop", {"label": label}) if to is None else ("move", {"label": label, "to": to})
    with file.writing(kind, **note) as transaction:
        label_id = _find_label(file, label)
        if to is not None:
            _find_label(file, to)

        def after(labels: list[Label]) -> list[Label]:
            return [name for name in labels if name != label] + ([to] if to is not None and label in labels else [])

        has_texts = store.keep == "text"
        change(file, transaction, by_labels(label_id), after, only_log=not has_texts)
        if not has_texts:
            _change_counts(file, transaction, label, to)
    return transaction.n_docs


def _change_counts(file: File, transaction: Transaction, label: Label, to: Label | None) -> None:
    try:
        taken = file.memory.counts.of_label(label)
    except MismatchError as error:
        problem = f"{file.store.path} keeps no texts to tell the words of documents with several labels apart"
        raise StoreError(problem, hint="learn the documents again with other labels") from error
    transaction.changes.append((-1, taken))
    transaction.n_docs = taken.n_docs
    if to is not None:
        added = taken.copy()
        added.rename(label, to)
        transaction.changes.append((1, added))


def rename_label(file: File, label: Label, name: Label) -> int:
    """Give a label another name."""
    label, (name,) = plain(label), check_labels([name])
    check_new([name])
    store = file.store
    with file.writing("rename", label=label, to=name) as transaction:
        label_id = _find_label(file, label)
        check_types([name], [label])
        if name == label:
            raise LabelError(f"{label!r} has that name already")
        if name in file.memory.counts.live_labels:
            raise LabelError(f"there is a label {name!r} already: move {label!r} to it instead")
        if name in store.labels():
            raise LabelError(f"{name!r} is still the label of documents that were unlearned: compact the file first")
        store.rename_label(label_id, name)
        transaction.n_docs = int(file.memory.counts.doc_count[file.memory.counts.label_ids[label]])
    return transaction.n_docs


def _find_label(file: File, label: Label) -> int:
    live = file.memory.counts.live_labels
    if not is_known(label, live):
        check_types([label], live)
        known = ", ".join(map(str, live[:20])) or "none"
        raise LabelError(f"there is no label {label!r} in {file.store.path}: the labels are {known}")
    names = file.store.labels()
    if label not in names:
        raise file.store.unpacker().damaged(f"its list of labels lacks {label!r}")
    return names.index(label)


# --- which documents

Places = npt.NDArray[np.bool_]

_SHOWN = 3
_START = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER = 1 << 62


class Document(NamedTuple):
    """A document as the log knows it."""

    digest: str
    labels: list[Label]
    time: str
    id: str | None
    source: str | None
    text: Any  # None where the file keeps no text


class Selection(NamedTuple):
    """Which documents.

    Attributes
    ----------
    among : function of a block
        Which of its documents are chosen.
    candidates : function of a store, optional
        Where to look for them, by an index; without it, in all blocks.
    check : function
        Refuses the choice if some of its documents were not found; call it at the end.
    """

    among: Callable[[Block], Places]
    candidates: Callable[[Store], dict[int, list[int]]] | None = None
    check: Callable[[], None] = lambda: None

    def within(self, heading: Heading) -> Integers:
        """The places of the chosen documents that are alive."""
        alive = heading.alive
        return alive[self.among(heading.block.pick(alive))] if len(alive) else alive


def pick(store: Store, choice: Selection) -> Iterator[tuple[int, Integers, Block]]:
    """The chosen documents, with their texts where the file keeps them: the number of a block, and places there."""
    if choice.candidates is None:
        for heading in list(store.log.headings()):
            if len(places := choice.within(heading)):
                yield heading.number, places, store.log.block(heading.number).pick(places)
    else:
        for number, found in sorted(choice.candidates(store).items(), reverse=True):
            places = np.array(found)
            block = store.log.block(number).pick(places)
            rows = np.flatnonzero(choice.among(block))  # documents may share a key of the index
            if len(rows):
                yield number, places[rows], block.pick(rows)
    choice.check()


def list_documents(store: Store) -> Iterator[Document]:
    """All documents, in the order in which they were learned."""
    names = store.labels()
    for _, block in store.log.blocks():
        yield from documents_in(block, names)


def documents_in(block: Block, names: Sequence[Label]) -> Iterator[Document]:
    """The documents of a block, by the names of labels."""
    texts = block.documents() if block.sizes is not None else [None] * block.n_docs
    for place, text in enumerate(texts):
        source = int(block.source_codes[place])
        yield Document(
            digest=block.digests[place].tobytes().hex(),
            labels=sorted(names[k] for k in block.label_sets[block.codes[place]]),
            time=_write_time(int(block.times[place])),
            id=block.ids[place] if block.ids else None,
            source=block.sources[source - 1] if source else None,
            text=text,
        )


def _write_time(microseconds: int) -> str:
    try:
        return (_START + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds")
    except OverflowError:
        return ""


def by_ids(ids: Sequence[str]) -> Selection:
    """The documents with these names."""
    return _by_values("id", ids, id_words(ids), lambda block: block.ids or [None] * block.n_docs)


def by_digests(digests: Sequence[str]) -> Selection:
    """The documents whose texts have these digests, as hexadecimal digits."""
    for digest in digests:
        if len(digest) != 32 or not set(digest) <= set("0123456789abcdef"):
            raise OptionError(f"a digest has 32 hexadecimal digits, not {digest!r}: the method documents() lists them")
    keys = key_words(np.frombuffer(bytes.fromhex("".join(digests)), DIGEST))
    return _by_values("digest", digests, keys, lambda block: [digest.tobytes().hex() for digest in block.digests])


def _by_values(what: str, values: Sequence[Any], keys: Words, of: Callable[[Block], Sequence[Any]]) -> Selection:
    """The documents with these values, which must all be there; the index finds them by `keys`."""
    wanted, missing = set(values), dict.fromkeys(values)

    def among(block: Block) -> Places:
        known = of(block)
        for value in known:
            missing.pop(value, None)
        return np.array([value in wanted for value in known], bool)

    def check() -> None:
        if missing:
            raise UnlearnError(f"no document that is learned has the {what} {some(map(repr, missing), _SHOWN)}")

    return Selection(among, lambda store: store.log.index(f"{what}s").find(keys), check)


def by_texts(texts: Any) -> Selection:
    """The documents with these texts."""
    return by_digests([digest.tobytes().hex() for digest in document_digests(texts)])


def by_time(before: datetime | None = None, since: datetime | None = None) -> Selection:
    """The documents that were learned before a time, or not before one; times without a zone are local."""
    first, end = (0 if since is None else microseconds(since)), (None if before is None else microseconds(before))
    return Selection(lambda block: (block.times >= first) & (True if end is None else block.times < end))


def microseconds(moment: datetime) -> int:
    """A time as the log has it; one without a zone is local.

    >>> microseconds(datetime(2026, 1, 31, tzinfo=UTC)), microseconds(datetime(1, 1, 1))
    (1769817600000000, 0)
    """
    try:
        return int(moment.astimezone(UTC).timestamp() * 1e6)
    except (OverflowError, ValueError):  # the first and the last day of the calendar, in another zone
        return 0 if moment.year < _START.year else _NEVER


def by_source(source: str) -> Selection:
    """The documents of a source."""
    return Selection(
        lambda block: (
            np.array([source == name for name in ["", *block.sources]])[block.source_codes] & (block.source_codes > 0)
        )
    )


def all_of(*choices: Selection) -> Selection:
    """The documents that all of some choices choose."""
    return Selection(lambda block: np.logical_and.reduce([choice.among(block) for choice in choices]))


def by_labels(label: int) -> Selection:
    """The documents with a label, given by its id in the file."""
    return Selection(lambda block: np.array([label in labels for labels in block.label_sets], bool)[block.codes])


# --- page by page, the documents that came last first
#
# A page begins at a place, which is a block and a place there, and ends where the next page begins.  One page looks at
# a limited number of documents, whether it has found any or not: a search through a million takes several pages.
# Blocks that are joined between two pages only move towards the beginning, so that nothing is left out; at most some
# documents come twice.

# The most that one page looks at: a search of 145,000 messages of 80 characters took 0.16 s, of 16 MB of mails 0.09 s.
_MOST_DOCS = 1 << 17
_MOST_BYTES = 16 << 20


class Hit(NamedTuple):
    """A document that was found, and its place."""

    place: str
    document: Document


class Page(NamedTuple):
    """Documents that were found; the next page begins at `next`, None at the end; `looked` were looked at."""

    hits: list[Hit]
    next: str | None
    looked: int


def browse(
    store: Store,
    contains: str | None,
    label: Label | None,
    since: datetime | None,
    before: datetime | None,
    change: int | None,
    begin: str | None,
    limit: int,
) -> Page:
    """The documents that fit, as `StoredClassifier.browse` has it; call while reading.

    A transaction that has learned has the documents that it has learned; another one has those that it has changed,
    with the labels that they had before.  One that was joined with others has only those that it has learned, and one
    that was undone has none.
    """
    if contains and store.keep != "text":
        raise StoreError(f"{store.path} keeps no texts to search: look for a label or a time")
    first, first_place = (LAST, LAST) if begin is None else _read_place(begin)
    names = store.labels()
    if label is not None and not is_known(label, names):
        return Page([], None, 0)
    choice = by_time(before, since)
    if label is not None:
        choice = all_of(choice, by_labels(names.index(label)))
    wanted = _fold(contains or "")
    hits: list[Hit] = []
    looked = n_bytes = 0
    for heading in _headings(store, change, first):
        number, places = heading.number, choice.within(heading)
        if number == first:
            places = places[places <= first_place]
        looked += len(heading.alive)
        if wanted and len(places):
            block = store.log.block(number)
            n_bytes += len(block.text)
            texts = block.pick(places).documents()
            places = places[[wanted in _fold(readable(text)) for text in texts]]
        more = len(places) - (limit - len(hits))  # than fit on the page
        shown = places[max(0, more) :]
        if len(shown):
            found = documents_in(store.log.block(number).pick(shown), names)
            both = zip(shown.tolist(), found, strict=True)
            hits += [Hit(f"{number}.{place}", document) for place, document in both][::-1]
        if more > 0:
            return Page(hits, f"{number}.{places[more - 1]}", looked)
        if looked >= _MOST_DOCS or n_bytes >= _MOST_BYTES:
            return Page(hits, f"{number - 1}.{LAST}", looked)
    return Page(hits, None, looked)


def _read_place(written: str) -> tuple[int, int]:
    """The block and the place there that a page has named.

    >>> _read_place("7.3")
    (7, 3)
    >>> _read_place("7")
    Traceback (most recent call last):
    bunrui.errors.OptionError: begin should be the place of a document, such as '7.3', not '7'
    """
    block, _, place = written.partition(".")
    if not (block.isdecimal() and place.isdecimal() and written.isascii()) or len(written) > 40:
        raise OptionError(option="begin", value=written, expected="the place of a document, such as '7.3'")
    return min(int(block), LAST), min(int(place), LAST)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _headings(store: Store, change: int | None, upto: int) -> Iterator[Heading]:
    """Blocks with the places to look at."""
    if change is None:
        return store.log.headings(upto)
    found = History(store).entries(after=change - 1, before=change + 1)
    if not found:
        raise OptionError(f"there is no change {change} in {store.path}", option="change", value=change)
    if found[0].undone:
        return iter(())
    if change > store.snapshot():
        return store.log.headings_of(change, upto)
    time = microseconds(datetime.fromisoformat(found[0].time))
    of_that_time = Selection(lambda block: block.times == time)  # the documents of one change share it
    return (heading._replace(alive=of_that_time.within(heading)) for heading in store.log.headings(upto))
