"""What makes an evaluation look better than it is, said on stderr."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bunrui.cli.console import counted, say

if TYPE_CHECKING:
    from bunrui.store.log import Seen

__all__ = ["Learned", "say_duplicates", "say_labels"]


def say_duplicates(texts: Any) -> int | None:
    """Say how many documents are copies of others, or nearly: they flatter what predicts itself."""
    if not isinstance(texts[0], str):
        return None
    from bunrui.evaluation import find_duplicates

    n_extra = find_duplicates(texts).n_extra
    if n_extra:
        are = "is a copy, or a near copy," if n_extra == 1 else "are copies, or near copies,"
        say(
            f"{counted(n_extra, 'document')} ({n_extra / len(texts):.1%}) {are} of others: what documents say of their "
            "copies flatters; --folds 5 --by id keeps together what has the same id"
        )
    return n_extra


def say_labels(labels: Sequence[Any]) -> None:
    """Say so where labels are such that the outcome is known beforehand.

    `labels` are strings, or lists of strings.
    """
    sets = [{row} if isinstance(row, str) else set(row) for row in labels]
    n_docs = Counter(name for names in sets for name in names)
    if len(n_docs) == 1:
        say("warning: there is one label: nothing can be mistaken")
        return
    n_alone = sum(all(n_docs[name] == 1 for name in names) for names in sets)
    if n_alone:
        have = "has" if n_alone == 1 else "have"
        say(f"warning: {counted(n_alone, 'document')} {have} a label that no other has: always mistaken")


class Learned:
    """Counts the test documents that were learned."""

    def __init__(self, seen: Seen | None) -> None:
        self._seen = seen
        self._n_docs = self._n_learned = 0

    @classmethod
    def into(cls, path: str) -> Learned:
        """By a classifier, which may not know."""
        from contextlib import closing

        from bunrui.store.file import seen_in
        from bunrui.store.store import Store

        with closing(Store.open(path, read_only=True)) as store, store.reading():
            return cls(seen_in(store, needed=False))

    @classmethod
    def of(cls, texts: Any) -> Learned:
        """By whoever learns these."""
        from bunrui.digests import document_digests, key_words
        from bunrui.store.log import Seen

        return cls(Seen(key_words(document_digests(texts))))

    def add(self, texts: Any) -> None:
        """Count some test documents."""
        if self._seen is None or not len(self._seen):
            return
        from bunrui.digests import document_digests, key_words

        self._n_docs += len(texts)
        self._n_learned += int(self._seen.has(key_words(document_digests(texts))).sum())

    def say(self, name: str) -> None:
        """Say how many there were; `name` is what has learned them."""
        if self._n_learned:
            were = "was" if self._n_learned == 1 else "were"
            say(
                f"warning: {self._n_learned:,} of {counted(self._n_docs, 'test document')} {were} learned by {name}: "
                "that flatters"
            )
