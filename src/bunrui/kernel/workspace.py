"""Room for the kernels: new arrays, and larger ones where they are full.

Big arrays come from NumPy untouched, so that the pages that a document does not need cost nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.errors import DataError
from bunrui.kernel import analyze, ngrams, rows, slices, vocabulary
from bunrui.kernel.library import run
from bunrui.kernel.primitives import M64
from bunrui.kernel.signature import address_of
from bunrui.kernel.slices import Mutex
from bunrui.kernel.unicode import NfkcTable
from bunrui.kernel.universal import Characters
from bunrui.kernel.vocabulary import BYTES, FEATURES, FULLEST, NARROW, REGION, SHIFT, SLOT, Vocabulary

ITEMS = 1 << 14
MAX_TEXT = 0xFFFF_FFFF  # places of items are 32-bit
NARROW_HASH = int(M64)  # tests set fewer bits, so that many features share a hash
NO_COUNTS = np.empty(0, np.int64)
NONE_FOLDED = np.empty(0, np.uint8)

# Places in the folded text, which may be five times as long, are 32-bit.
MAX_DOCUMENT = 512 << 20

_REGION_BITS = 14  # slots of a region: 512 KB
_MOST_REGIONS_BITS = 8


def resized(array: Any, size: int) -> Any:
    """The array with room for `size` elements, the old ones first."""
    out = np.empty(size, array.dtype)
    n = min(size, len(array))
    out[:n] = array[:n]
    return out


# Slots that nobody needs any more, by log2 of their number.  Clearing old memory is cheaper than new pages, which the
# system has to find and clear first: this took 260 of the 270 ms of building one table of 128 MB.
_spare: dict[int, list[Any]] = {}
_LEAST_SPARE_BITS = 12  # 128 KB: below, there is nothing to gain
_SPARE_BITS = 21  # 64 MB
_SPARE_EACH = 2
_spare_lock = Mutex()


def release(v: Vocabulary) -> None:
    """Give back the slots of a vocabulary that is used no more, to be used again."""
    bits = bits_of(v)
    with _spare_lock:
        spare = _spare.setdefault(bits, [])
        if _LEAST_SPARE_BITS <= bits <= _SPARE_BITS and len(spare) < _SPARE_EACH:
            spare.append(v.slots)


def empty_slots(bits: int) -> Any:
    with _spare_lock:
        spare = _spare.get(bits)
        slots = spare.pop() if spare else None
    if slots is not None:
        slots.fill(0)
        return slots
    # 64-byte alignment: two slots to a cache line, none across two.
    raw = np.zeros((SLOT << bits) + 8, np.uint64)
    skip = (-address_of(raw) % 64) // 8
    return raw[skip : skip + (SLOT << bits)]


def bits_for(features: int) -> int:
    """log2 of the slots for this number of features: at most seven of ten are taken."""
    return max(6, (max(features, 1) * 10 // 7).bit_length())


def bits_of(v: Vocabulary) -> int:
    """log2 of its slots."""
    return 64 - int(v.size[SHIFT])


def room_of(bits: int) -> int:
    return (1 << bits) * 7 // 10


def regions_for(bits: int) -> int:
    """The number of regions of a table with 2 ** bits slots: a region fits into a processor's own cache."""
    return 1 << min(max(bits - _REGION_BITS, 0), _MOST_REGIONS_BITS)


def new_vocabulary(features: int, text_bytes: int, regions: int = 1) -> Vocabulary:
    """An empty vocabulary with room for this number of features."""
    bits = bits_for(features)
    starts = np.empty(room_of(bits) + 1, np.int64)
    starts[0] = 0
    return Vocabulary(
        slots=empty_slots(bits),
        hashes=np.empty(room_of(bits), np.uint64),
        starts=starts,
        text=np.empty(text_bytes + 64, np.uint8),
        size=np.array([0, 0, 64 - bits, NARROW_HASH, (SLOT << bits) // regions - 1, 0], np.uint64),
        loads=np.zeros(regions, np.int64),
    )


def listed_vocabulary(starts: Any, text: Any) -> Vocabulary:
    """Features without slots: they cannot be found there, but they can be added elsewhere; `text` is padded."""
    n = len(starts) - 1
    size = np.array([n, starts[-1], 0, NARROW_HASH, 0, 0], np.uint64)
    return Vocabulary(np.empty(0, np.uint64), np.zeros(n, np.uint64), starts, text, size, np.empty(0, np.int64))


def grown_vocabulary(v: Vocabulary, features: int, text_bytes: int, *, in_regions: bool = False) -> Vocabulary:
    """The vocabulary with room for this number of features and bytes of text in all."""
    text = v.text
    if features <= len(v.hashes) and len(text) == MAX_TEXT + 64:
        raise too_much_text()
    if text_bytes + 64 > len(text):
        text = resized(text, min(max(text_bytes, 2 * len(text)), MAX_TEXT) + 64)
    if features <= len(v.hashes):
        v = v._replace(text=text)
        return v if is_even(v, int(v.size[FULLEST])) else with_slots(v, bits_of(v), 1)
    bits = bits_for(features)
    room = room_of(bits)
    grown = v._replace(hashes=resized(v.hashes, room), starts=resized(v.starts, room + 1), text=text)
    return with_slots(grown, bits, regions_for(bits) if in_regions else 1)


def is_even(v: Vocabulary, fullest: int) -> bool:
    """Tell whether the fullest region is not nearly full: hashes that agree in their highest bits all go to one."""
    return len(v.loads) == 1 or fullest * 8 <= (int(v.size[REGION]) + 1) // SLOT * 7


def has_even(v: Vocabulary, more: Any) -> bool:
    """Tell whether no region would be nearly full with more features, which have these hashes."""
    return is_even(v, int((v.loads + np.bincount(regions_of(more, len(v.loads)), minlength=len(v.loads))).max()))


def regions_of(hashes: Any, regions: int) -> Any:
    """The region of every hash."""
    return (hashes >> np.uint64(1) >> np.uint64(64 - regions.bit_length())).astype(np.uint8)


def with_slots(v: Vocabulary, bits: int, regions: int) -> Vocabulary:
    """The vocabulary with 2 ** bits slots, in these regions, or in one if features do not spread over them."""
    size = v.size.copy()
    loads = np.bincount(regions_of(v.hashes[: int(size[FEATURES])], regions), minlength=regions)
    size[SHIFT], size[REGION], size[FULLEST] = 64 - bits, (SLOT << bits) // regions - 1, loads.max()
    grown = v._replace(size=size, loads=loads)
    if not is_even(grown, int(loads.max())):
        return with_slots(v, bits, 1)
    grown = grown._replace(slots=empty_slots(bits))
    # Whole regions of both tables on each thread.
    n = min(len(v.loads), regions)
    step = len(v.slots) // n

    def move(lo: int, hi: int) -> None:
        run(vocabulary.move_slots, v.slots[lo * step : hi * step], grown)

    slices.each_slice(move, slices.stretches(n, 1))
    release(v)
    return grown


def restored(text: Any, sizes: npt.NDArray[np.int64]) -> Vocabulary:
    """The vocabulary of features that stand one after the other in `text` (uint8, padded by 64 bytes).

    Raises
    ------
    DataError
        If a feature is there twice.
    """
    n = len(sizes)
    v = new_vocabulary(n, 0, regions_for(bits_for(n)))._replace(text=text)
    np.cumsum(sizes, out=v.starts[1 : n + 1])
    v.size[FEATURES], v.size[BYTES] = n, v.starts[n]
    slices.each_slice(lambda lo, hi: run(vocabulary.put_hashes, v, lo, hi, scratch_for(0).items), slices.stretches(n))
    if not has_even(v, v.hashes[:n]):
        v.size[REGION] = len(v.slots) - 1
        v = v._replace(loads=np.zeros(1, np.int64))
    fill_slots(v, 0)
    return v


def fill_slots(v: Vocabulary, first: int, skip: int = 0) -> None:
    """Put the features from `first` on, which have ids, texts and hashes, into the slots, some regions on each thread.

    Raises
    ------
    DataError
        If one of them is there already.
    """
    n, regions = int(v.size[FEATURES]), len(v.loads)
    order = np.arange(first, n, dtype=np.uint32)
    bounds = [0, n - first]
    if regions > 1 and n - first >= slices.FEATURES:
        numbers = regions_of(v.hashes[first:n], regions)
        if (numbers[1:] < numbers[:-1]).any():
            by_region = np.argsort(numbers, kind="stable")
            order, numbers = order[by_region], numbers[by_region]
        cuts = slices.stretches(regions, max(1, regions * slices.FEATURES // (n - first)))
        bounds = np.searchsorted(numbers, np.arange(regions + 1))[cuts].tolist()

    def fill_some(lo: int, hi: int) -> bool:
        return bool(run(vocabulary.put_slots, v, order, lo, hi, skip, scratch_for(0).items))

    try:
        if not all(slices.each_slice(fill_some, bounds)):
            raise DataError("a feature is there twice")
    finally:
        v.size[FULLEST] = v.loads.max()


def too_much_text() -> DataError:
    """The error for texts whose places would need more than 32 bits."""
    return DataError("the features take more than 4 GiB of text: use shorter n-grams, or several classifiers")


def feature_texts(v: Vocabulary) -> list[bytes]:
    """The text of every feature, by id."""
    n = int(v.size[FEATURES])
    text = v.text[: int(v.size[BYTES])].tobytes()
    starts = v.starts[: n + 1].tolist()
    return [text[a:b] for a, b in pairwise(starts)]


def find_features(v: Vocabulary, texts: Sequence[bytes]) -> list[int]:
    """The ids of some features, -1 where the vocabulary lacks one."""
    text, n = _joined(texts), len(texts)
    items = new_items(n)
    items.starts[:], items.lengths[:] = np.cumsum([0, *map(len, texts)])[:-1], [len(text) for text in texts]
    run(ngrams.put_items, text, items, np.uint64(n), v.size[NARROW])
    run(vocabulary.probe, v, items, np.uint64(n), text, 0)
    return [-1 if f == vocabulary.MISSING else f for f in items.ids.tolist()]


def ids_in(v: Vocabulary, others: Vocabulary, grows: int = rows.KNOWN) -> npt.NDArray[np.uint32]:
    """The ids that the features of another vocabulary have in this one, MISSING where it lacks them."""
    ids = np.empty(int(others.size[FEATURES]), np.uint32)
    run(rows.find_features, v, others, grows, scratch_for(0).items, ids)
    return ids


def new_items(size: int = ITEMS) -> ngrams.Items:
    padded = size + int(ngrams.AHEAD)
    return ngrams.Items(
        hashes=np.zeros(padded, np.uint64),
        low=np.empty(padded, np.uint64),
        high=np.empty(padded, np.uint64),
        starts=np.empty(size, np.uint32),
        lengths=np.empty(size, np.uint32),
        ids=np.empty(size, np.uint32),
    )


def new_scratch(longest: int) -> analyze.Scratch:
    """Room for documents of up to `longest` bytes (or strings, where features are given)."""
    units = 3 * (longest + 64) + 8
    return analyze.Scratch(
        codes=np.empty(longest + 64, np.uint32),
        units=ngrams.Units(
            text=np.empty(5 * (longest + 64) + 256 + ngrams.NAME * ITEMS + ngrams.PADDING, np.uint8),
            borders=np.empty(2 * units + 8, np.uint32),
            orders=np.empty(units, np.uint8),
        ),
        items=new_items(),
        rows=np.empty(ITEMS, np.uint32),
        longs=np.empty(ITEMS, np.uint32),
    )


def vocabulary_of(words: Sequence[str]) -> Vocabulary:
    """A vocabulary of these words, which are all different, in this order."""
    if not words:
        return new_vocabulary(1, 0)._replace(hashes=np.empty(0, np.uint64))
    texts = [word.encode() for word in words]
    return restored(_joined(texts), np.array([len(text) for text in texts], np.int64))


def _joined(texts: Sequence[bytes]) -> Any:
    """Texts one after the other, padded as the kernels want them."""
    return np.frombuffer(b"".join(texts) + bytes(64), np.uint8).copy()


_NO_CODES = np.empty(0, np.uint32)
_NO_TABLE = NfkcTable(_NO_CODES, _NO_CODES, np.empty(0, np.uint64), _NO_CODES)
_NO_NUMBERS = np.empty(0, np.int32)
_NO_CHARACTERS = Characters(np.empty(0, np.uint8), _NO_NUMBERS, _NO_NUMBERS, _NO_CODES, np.zeros(9, np.int64))


def new_recipe(
    kind: int,
    order: int = 1,
    lower: Any = _NO_CODES,
    nfkc: NfkcTable = _NO_TABLE,
    characters: Characters = _NO_CHARACTERS,
    stop: Sequence[str] = (),
) -> analyze.Recipe:
    """A recipe; tables that its kind does not read are empty."""
    return analyze.Recipe(np.array([kind, order, 0], np.int64), lower, nfkc, characters, vocabulary_of(stop))


_threads = threading.local()
_KEEP_SCRATCH = 4 << 20


def scratch_for(longest: int) -> analyze.Scratch:
    """The scratch of this thread, with room for `longest` bytes; a very long document gets one that is not kept."""
    if longest > _KEEP_SCRATCH:
        return new_scratch(longest)
    scratch: analyze.Scratch | None = getattr(_threads, "scratch", None)
    if scratch is None or len(scratch.codes) < longest + 64:
        scratch = _threads.scratch = new_scratch(max(longest, 4096))
    return scratch
