"""The columns of a matrix: feature texts in order, and the table in which the kernels find them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bunrui.kernel import rows
from bunrui.kernel.library import run
from bunrui.kernel.postings import BLOCK
from bunrui.kernel.vocabulary import BYTES, FEATURES, MISSING, Vocabulary
from bunrui.kernel.workspace import grown_vocabulary, listed_vocabulary, new_items, new_vocabulary

__all__ = ["Features", "find", "join", "sorted_ids"]

_PAD = 64


class Features:
    """Feature texts by column.

    The table is made when something is looked up: a matrix that was counted in one pass needs none, and a pickle holds
    the texts alone.

    Examples
    --------
    >>> features = Features.of_words(["b", "a"])
    >>> features.columns
    {'b': 0, 'a': 1}
    >>> features.append(Features.of_words(["c", "a"]).table)
    >>> features.names
    ['b', 'a', 'c']
    """

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts
        self._table: Vocabulary | None = None

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Features:
        """Features in this order."""
        return cls(pa.array([word.encode() for word in words], pa.large_binary()))

    @classmethod
    def of_vocabulary(cls, v: Vocabulary, ids: Any) -> Features:
        """Some features of a vocabulary, in the order of `ids`."""
        return cls(_texts(v).take(pa.array(ids)))

    def __len__(self) -> int:
        return len(self._texts)

    def __getstate__(self) -> dict[str, Any]:
        return {"texts": self._texts.to_pylist()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(pa.array(state["texts"], pa.large_binary()))  # type: ignore[misc]

    @cached_property
    def names(self) -> list[str]:
        """The texts as strings."""
        names: list[str] = self._texts.cast(pa.large_string()).to_pylist()
        return names

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of every feature."""
        return {name: column for column, name in enumerate(self.names)}

    @property
    def table(self) -> Vocabulary:
        """The vocabulary whose ids are the columns."""
        if self._table is None:
            listed = _listed(self._texts)
            self._table, _ = join(new_vocabulary(1, 1), listed)
        return self._table

    def append(self, v: Vocabulary) -> None:
        """Add the features of a vocabulary that are new, sorted, behind those that are known."""
        new = np.flatnonzero(find(self.table, v) == MISSING)
        if not len(new):
            return
        more = _texts(v).take(pa.array(new))
        more = more.take(pc.sort_indices(more))
        self._table, _ = join(self.table, _listed(more))
        self._texts = _texts(self._table)
        for name in ("names", "columns"):
            self.__dict__.pop(name, None)


def join(v: Vocabulary, more: Vocabulary) -> tuple[Vocabulary, npt.NDArray[np.uint32]]:
    """The vocabulary with the features of another, and their ids in it."""
    n, n_bytes = (int(v.size[place]) + int(more.size[place]) for place in (FEATURES, BYTES))
    v = grown_vocabulary(v, n, n_bytes)
    return v, find(v, more, rows.GROWS)


def find(v: Vocabulary, others: Vocabulary, grows: int = rows.KNOWN) -> npt.NDArray[np.uint32]:
    """The ids that the features of another vocabulary have in this one, MISSING where it lacks them."""
    n = int(others.size[FEATURES])
    ids = np.empty(n, np.uint32)
    run(rows.find_features, v, others, grows, new_items(BLOCK), ids)
    return ids


def sorted_ids(v: Vocabulary) -> npt.NDArray[np.int64]:
    """Ids by the text of their features, in the order of code points."""
    # UTF-8 sorts as the code points that it stands for.
    order: npt.NDArray[np.int64] = pc.sort_indices(_texts(v)).to_numpy().astype(np.int64)
    return order


def _texts(v: Vocabulary) -> pa.Array:
    """The texts of a vocabulary, by id, as they stand."""
    n = int(v.size[FEATURES])
    buffers = [None, pa.py_buffer(v.starts[: n + 1]), pa.py_buffer(v.text)]
    return pa.Array.from_buffers(pa.large_binary(), n, buffers)


def _listed(texts: pa.Array) -> Vocabulary:
    """Texts as a vocabulary without a table: others can take them over, nothing can be looked up."""
    _, starts, data = texts.buffers()
    n = len(texts)
    offsets = np.frombuffer(starts, np.int64)[texts.offset : texts.offset + n + 1] if n else np.zeros(1, np.int64)
    n_bytes = int(offsets[-1] - offsets[0])
    text = np.zeros(n_bytes + _PAD, np.uint8)
    if n_bytes:
        text[:n_bytes] = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]
    return listed_vocabulary(offsets - offsets[0], text, n_bytes)
