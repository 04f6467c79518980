"""Which shards a file holds: the notes of its changes say so.

shards     ids of shards
n_shards   how many there were; `compact` forgets names, and leaves numbers
unsharded  documents of the same change that belong to none
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bunrui.errors import StoreError
from bunrui.phrases import some
from bunrui.store import History, Store

__all__ = ["Holding", "holding", "is_new"]

_SHOWN = 3
_WITHOUT = ("set", "compact", "rename")  # changes of no documents


class Holding(NamedTuple):
    """Ids of shards, how many documents came or went besides, and how many ids the file had and knows no more."""

    ids: frozenset[str] = frozenset()
    n_more: int = 0
    n_forgotten: int = 0

    @property
    def has_any(self) -> bool:
        """Whether there are shards, known or not."""
        return bool(self.ids) or self.n_forgotten > 0

    def note(self) -> dict[str, Any]:
        """For the change that brings them into another file.

        >>> Holding(frozenset({"b", "a"}), n_more=5).note()
        {'shards': ['a', 'b'], 'n_shards': 2, 'unsharded': 5}
        >>> Holding(n_more=5).note()
        {}
        """
        if not self.has_any:
            return {}
        note = {"shards": sorted(self.ids), "n_shards": len(self.ids) + self.n_forgotten}
        return note | ({"unsharded": self.n_more} if self.n_more else {})

    def joined(self, other: Holding) -> Holding:
        """Of both."""
        return Holding(self.ids | other.ids, self.n_more + other.n_more, self.n_forgotten + other.n_forgotten)


def holding(store: Store) -> Holding:
    """What a file holds; what was undone, it does not."""
    found = Holding()
    unpacker = store.unpacker()
    for entry in History(store).entries():
        if entry.undone or entry.kind in _WITHOUT:
            continue
        shards, n_shards, n_more = (entry.note.get(key, 0) for key in ("shards", "n_shards", "unsharded"))
        unpacker.check_whole(n_shards, n_more)
        if not n_shards:
            # A slim copy does not say what the file had that it was made from.
            found = found.joined(Holding(n_more=entry.n_docs, n_forgotten=int(entry.kind == "slim")))
            continue
        ids = shards if isinstance(shards, list) else []
        unpacker.check_text(*ids)
        if len(set(ids)) > n_shards:
            raise unpacker.damaged("it has more shards than it says")
        found = found.joined(Holding(frozenset(ids), n_more, n_shards - len(set(ids))))
    return found


def is_new(mine: Holding, theirs: Holding, target: str, other: str) -> bool:
    """Whether a file is to be merged: False if all that it has is there already.

    Raises
    ------
    StoreError
        If a part of it is there, since counts cannot be told apart; or if that is not known.
    """
    if not (mine.has_any and theirs.has_any):
        return True
    for name, known in ((target, mine), (other, theirs)):
        if known.n_forgotten:
            raise StoreError(
                f"{name} was compacted, or is a slim copy, and does not know which shards it holds, so that some might "
                "count twice: merge the parts into a new file"
            )
    shared = sorted(mine.ids & theirs.ids)
    if not shared:
        return True
    both = f"{other} has shards that {target} has too ({some(shared, _SHOWN)})"
    if len(shared) < len(theirs.ids):
        raise StoreError(f"{both}, and others that it lacks: merge the parts of those")
    if theirs.n_more:
        raise StoreError(
            f"{both}, and has changed by {theirs.n_more:,} documents besides: merge it into a file without these shards"
        )
    return False
