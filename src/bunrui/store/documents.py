"""Which documents of the log: chosen by what the log knows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.counts import Integers
from bunrui.digests import DIGEST, document_digests, key_words
from bunrui.errors import OptionError, UnlearnError
from bunrui.phrases import some
from bunrui.store.blocks import Block
from bunrui.store.log import id_words
from bunrui.store.store import Store

__all__ = [
    "Document",
    "Picked",
    "Selection",
    "all_of",
    "by_digests",
    "by_ids",
    "by_labels",
    "by_source",
    "by_texts",
    "by_time",
    "list_documents",
    "pick",
]

Places = npt.NDArray[np.bool_]

_SHOWN = 3
_START = datetime(1970, 1, 1, tzinfo=UTC)


class Document(NamedTuple):
    """A document as the log knows it."""

    digest: str
    labels: list[str]
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
        Refuses a choice of documents of which some were not found; for the end.
    """

    among: Callable[[Block], Places]
    candidates: Callable[[Store], dict[int, list[int]]] | None = None
    check: Callable[[], None] = lambda: None


class Picked(NamedTuple):
    """Some documents of one block."""

    number: int
    places: Integers
    block: Block


def pick(store: Store, choice: Selection) -> Iterator[Picked]:
    """The documents that are chosen, with their texts where the file keeps them."""
    yield from _pick(store, choice)
    choice.check()


def _pick(store: Store, choice: Selection) -> Iterator[Picked]:
    if choice.candidates is not None:
        for number, found in sorted(choice.candidates(store).items(), reverse=True):
            places = np.array(found)
            block = store.log.block(number).pick(places)
            rows = np.flatnonzero(choice.among(block))  # the keys of an index may be those of others, too
            if len(rows):
                yield Picked(number, places[rows], block.pick(rows))
        return
    for number, heading, alive in list(store.log.headings()):
        places = alive[choice.among(heading.pick(alive))] if len(alive) else alive
        if len(places):
            yield Picked(number, places, store.log.block(number).pick(places))


def list_documents(store: Store) -> Iterator[Document]:
    """All documents, in the order in which they were learned."""
    names = store.labels()
    for _, block in store.log.blocks():
        texts = block.documents() if block.sizes is not None else [None] * block.n_docs
        for place, text in enumerate(texts):
            source = int(block.source_codes[place])
            yield Document(
                digest=block.digests[place].tobytes().hex(),
                labels=sorted(names[k] for k in block.label_sets[block.codes[place]]),
                time=_written(int(block.times[place])),
                id=block.ids[place] if block.ids else None,
                source=block.sources[source - 1] if source else None,
                text=text,
            )


def _written(microseconds: int) -> str:
    try:
        return (_START + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds")
    except OverflowError:
        return ""


class _Wanted:
    """A choice by values that must all be there."""

    def __init__(self, values: Sequence[Any], what: str) -> None:
        self._wanted = dict.fromkeys(values)
        self._missing = dict(self._wanted)
        self._what = what

    def mask(self, known: Sequence[Any]) -> Places:
        for value in known:
            self._missing.pop(value, None)
        return np.array([value in self._wanted for value in known], bool)

    def check(self) -> None:
        """Refuse what was not found."""
        if self._missing:
            shown = some(map(repr, self._missing), _SHOWN)
            raise UnlearnError(f"no document that is learned has the {self._what} {shown}")


def by_ids(ids: Sequence[str]) -> Selection:
    """The documents with these names."""
    wanted = _Wanted(ids, "id")

    def among(block: Block) -> Places:
        return wanted.mask(block.ids or [None] * block.n_docs)

    return Selection(among, lambda store: store.log.index("ids").find(id_words(ids)), wanted.check)


def by_digests(digests: Sequence[str]) -> Selection:
    """The documents whose texts have these digests, as hexadecimal digits."""
    for digest in digests:
        if len(digest) != 32 or not set(digest) <= set("0123456789abcdef"):
            raise OptionError(f"a digest has 32 hexadecimal digits, not {digest!r}: the method documents() lists them")
    wanted = _Wanted(digests, "digest")
    keys = key_words(np.frombuffer(bytes.fromhex("".join(digests)), DIGEST))

    def among(block: Block) -> Places:
        return wanted.mask([digest.tobytes().hex() for digest in block.digests])

    return Selection(among, lambda store: store.log.index("digests").find(keys), wanted.check)


def by_texts(texts: Any) -> Selection:
    """The documents with these texts."""
    return by_digests([digest.tobytes().hex() for digest in document_digests(texts)])


def by_time(before: datetime) -> Selection:
    """The documents that were learned before a time; one without a zone is local."""
    limit = int(before.astimezone(UTC).timestamp() * 1e6)
    return Selection(lambda block: block.times < limit)


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
