"""Numbers and words → text that a page can hold: arrays, deflated, in base64.

    bytes      the size of a header, the header (JSON), and the arrays, one after the other
    an array   all first bytes of its numbers, then all second bytes …: these are alike, and deflate well
    words      sorted; each leaves out the bytes that it shares with the one before it
    numbers    as they are, or places in a list of those that there are, where many are equal

`web/classify.js` reads it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.cells import ranges

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]

_LONGEST_PREFIX = 64
_BLOCK = 1 << 16


def pack(header: Mapping[str, Any], arrays: Arrays) -> str:
    """A header and arrays of whole numbers or float64, as base64."""
    planes, places, at = [], [], 0
    for name, array in arrays.items():
        kind, tight = _tighten(array)
        width = tight.dtype.itemsize
        planes.append(np.ascontiguousarray(tight.view(np.uint8).reshape(-1, width).T).tobytes())
        places.append((name, kind, at, len(tight)))
        at += width * len(tight)
    told = json.dumps({**header, "arrays": places}).encode()
    packed = zlib.compress(b"".join([len(told).to_bytes(4, "little"), told, *planes]))
    return base64.b64encode(packed).decode()


def _tighten(array: Array) -> tuple[str, Array]:
    """The kind of an array, and its numbers in as few bytes as they need."""
    flat = np.ascontiguousarray(array).reshape(-1)
    kind = "f8" if flat.dtype.kind == "f" else f"u{np.min_scalar_type(int(flat.max(initial=0))).itemsize}"
    return kind, flat.astype(f"<{kind}")


def list_values(name: str, values: Array) -> dict[str, Array]:
    """Numbers as they are, or as places among those that there are.

    >>> {key: array.tolist() for key, array in list_values("w", np.array([0.5, 2.5, 0.5, 0.5])).items()}
    {'w': [0, 1, 0, 0], 'w_values': [0.5, 2.5]}
    """
    known, places = np.unique(values, return_inverse=True)
    if 2 * len(known) > len(values):
        return {name: values}
    return {name: places.reshape(-1), f"{name}_values": known}


def list_words(words: list[bytes]) -> dict[str, Array]:
    """Sorted words without what each shares with the one before.

    >>> {key: array.tobytes() for key, array in list_words([b"tea", b"team"]).items() if key == "texts"}
    {'texts': b'team'}
    """
    sizes = np.array([len(word) for word in words], np.int64)
    starts = np.cumsum(sizes) - sizes
    text = np.frombuffer(b"".join(words), np.uint8)
    prefixes = np.zeros(len(words), np.int64)
    for lo in range(1, len(words), _BLOCK):
        rows = np.arange(lo, min(lo + _BLOCK, len(words)))
        prefixes[rows] = _shared(text, starts, sizes, rows)
    is_kept = np.ones(len(text), bool)
    is_kept[ranges(starts, prefixes)] = False  # each word begins with its prefix
    return {"prefixes": prefixes, "suffixes": sizes - prefixes, "texts": text[is_kept]}


def _shared(text: Array, starts: Array, sizes: Array, rows: Array) -> Array:
    """How many bytes the words of some rows share with the words before them."""
    width = min(_LONGEST_PREFIX, int(sizes[rows].max()))
    steps = np.arange(width)
    last = len(text) - 1
    mine, before = (text[np.minimum(starts[some][:, None] + steps, last)] for some in (rows, rows - 1))
    room = np.minimum(sizes[rows], sizes[rows - 1])[:, None] > steps
    return np.asarray(np.logical_and.accumulate((mine == before) & room, axis=1).sum(axis=1))
