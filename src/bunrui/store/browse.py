"""Look through the documents of a file page by page, the ones that came last first.

A page begins at a place, which is a block and a place there, and ends at one, where the next page begins.  One page
looks at so many documents and no more, whether it has found any or not: a search through a million takes several.
Blocks that are joined between two pages only move towards the beginning, so that nothing is left out; at most some
documents come twice.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from bunrui.counts import Label
from bunrui.errors import OptionError, StoreError
from bunrui.labels import is_known
from bunrui.phrases import readable
from bunrui.store.lifecycle import Document, Selection, all_of, by_labels, by_time, documents_in, microseconds
from bunrui.store.log import Heading
from bunrui.store.store import Store
from bunrui.store.transaction import History

# What one page looks at: a search took 0.16 s for 145,000 messages of 80 characters, and 0.09 s for 16 MB of mails.
_MOST_DOCS = 1 << 17
_MOST_BYTES = 16 << 20
_LAST = (1 << 63) - 1


class Place(NamedTuple):
    """Where a document stands in the log.

    >>> str(Place(7, 3)), Place.of("7.3")
    ('7.3', Place(block=7, place=3))
    >>> Place.of("7")
    Traceback (most recent call last):
    bunrui.errors.OptionError: begin should be the place of a document, such as '7.3', not '7'
    """

    block: int
    place: int

    @classmethod
    def of(cls, written: str) -> Place:
        """The place that a page has named."""
        block, _, place = written.partition(".")
        if not (block.isdecimal() and place.isdecimal() and written.isascii()) or len(written) > 40:
            raise OptionError(option="begin", value=written, expected="the place of a document, such as '7.3'")
        return cls(min(int(block), _LAST), min(int(place), _LAST))

    def __str__(self) -> str:
        return f"{self.block}.{self.place}"


class Hit(NamedTuple):
    """A document that was found, and its place."""

    place: str
    document: Document


class Page(NamedTuple):
    """Documents that were found; the next page begins at `next`, None at the end; `looked` were looked at."""

    hits: list[Hit]
    next: str | None
    looked: int


class Search(NamedTuple):
    """What to look for: all of these.

    Attributes
    ----------
    contains : str or None
        Words of the text; capital or small, and wide or narrow letters are the same.
    label : str, int, bool or None
    since, before : datetime or None
        When it was learned first; without a zone, local time.
    change : int or None
        The transaction that it belongs to, by its number.
    """

    contains: str | None = None
    label: Label | None = None
    since: datetime | None = None
    before: datetime | None = None
    change: int | None = None


def browse(store: Store, search: Search, begin: str | None = None, limit: int = 50) -> Page:
    """The documents from a place on that fit, at most so many; call while reading.

    Of a transaction that has learned, the documents that it has learned; of another, those that it has changed, with
    the labels that they had before.  Of one that was joined with others, only those that it has learned are known; of
    one that was undone, none.
    """
    if search.contains and store.keep != "text":
        raise StoreError(f"{store.path} keeps no texts to search: look for a label or a time")
    first = None if begin is None else Place.of(begin)
    names = store.labels()
    wanted = _folded(search.contains or "")
    hits: list[Hit] = []
    looked = n_bytes = 0
    choice = _choice(names, search)
    if choice is None:
        return Page([], None, 0)
    headings = _headings(store, search.change, None if first is None else first.block)
    for number, heading, alive in headings:
        places = alive[choice.among(heading.pick(alive))] if len(alive) else alive
        if first is not None and number == first.block:
            places = places[places <= first.place]
        looked += len(alive)
        if wanted and len(places):
            block = store.log.block(number)
            n_bytes += len(block.text)
            texts = block.pick(places).documents()
            places = places[[wanted in _folded(readable(text)) for text in texts]]
        more = len(places) - (limit - len(hits))  # than fit on the page
        shown = places[max(0, more) :]
        if len(shown):
            found = documents_in(store.log.block(number).pick(shown), names)
            both = zip(shown.tolist(), found, strict=True)
            hits += [Hit(str(Place(number, place)), document) for place, document in both][::-1]
        if more > 0:
            return Page(hits, str(Place(number, int(places[more - 1]))), looked)
        if looked >= _MOST_DOCS or n_bytes >= _MOST_BYTES:
            return Page(hits, str(Place(number - 1, _LAST)), looked)
    return Page(hits, None, looked)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _choice(names: list[Label], search: Search) -> Selection | None:
    """The part of a search that needs no texts; None where no document can fit."""
    choices = [by_time(search.before, search.since)]
    if search.label is not None:
        if not is_known(search.label, names):
            return None
        choices.append(by_labels(names.index(search.label)))
    return all_of(*choices)


def _headings(store: Store, change: int | None, upto: int | None) -> Iterator[Heading]:
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
    return (_learned_at(heading, time) for heading in store.log.headings(upto))


def _learned_at(heading: Heading, time: Any) -> Heading:
    """The documents that were learned first at a time: those of one transaction have the same."""
    return heading._replace(alive=heading.alive[heading.block.times[heading.alive] == time])
