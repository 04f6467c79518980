"""Folds the documents that the kernels cannot fold, before any kernel reads them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from bunrui.kernel import normal
from bunrui.kernel.analyze import KIND, WORDS, Documents, Recipe
from bunrui.kernel.hard import find_hard
from bunrui.kernel.library import run
from bunrui.kernel.slices import cut, each_slice
from bunrui.kernel.workspace import MAX_DOCUMENT, scratch_for

__all__ = ["fold"]


def fold(docs: Documents, recipe: Recipe) -> Documents:
    """The documents; the hard ones are folded by Python.

    A hard document may take seconds (5 to 8 MB/s); other threads run meanwhile.
    """
    sizes = np.diff(docs.offsets)
    hard = np.zeros(len(sizes), np.uint8)
    longest = min(int(sizes.max(initial=0)), MAX_DOCUMENT)

    def find(lo: int, hi: int) -> int:
        return int(run(find_hard, docs, lo, hi, recipe, scratch_for(longest).codes, hard))

    if not sum(each_slice(find, cut(sizes))):
        return docs
    form: Literal["lower", "nfkc"] = "lower" if recipe.params[KIND] == WORDS else "nfkc"
    pieces: list[Any] = []
    done = int(docs.offsets[0])
    for row in np.flatnonzero(hard).tolist():
        start, end = docs.offsets[row : row + 2].tolist()
        new = _encode(docs.data[start:end].tobytes().decode(), form)
        pieces += docs.data[done:start], new
        sizes[row] = len(new)
        done = end
    data = np.concatenate([*pieces, docs.data[done : docs.offsets[-1]]])
    return docs._replace(data=data, offsets=np.concatenate([[0], np.cumsum(sizes)]), folded=hard)


def _encode(text: str, form: Literal["lower", "nfkc"]) -> Any:
    return np.frombuffer(b"".join([piece.encode() for piece in normal.folded(text, form)]), np.uint8)
