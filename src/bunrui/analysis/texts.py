"""Texts of any type → Arrow strings → the buffers that kernels read.

Texts come as a list, a NumPy array, a pandas or polars series, an Arrow array, or anything with the Arrow PyCapsule
interface.  A document may also be a list of tokens, or a mapping from word to count: these are its features, and no
analyzer reads it.

Documents that the kernels cannot fold are folded here, before any kernel reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bunrui.errors import DataError, EncodingError, Step
from bunrui.kernel import normal
from bunrui.kernel.analyze import KIND, WORDS, Documents, Recipe, find_hard
from bunrui.kernel.library import run
from bunrui.kernel.slices import cut, each_slice, stretches
from bunrui.kernel.workspace import MAX_DOCUMENT, NO_COUNTS, NONE_FOLDED, scratch_for

MAX_COUNT = (1 << 32) - 1
_AT_ONCE = 1 << 20  # bytes that a thread validates, at least: in .1 ms
FEW = 32  # texts that are not worth an Arrow array
_MANY = 256  # tokens that are worth one
_SURROGATE = re.compile("[\ud800-\udfff]").search
_ARRAYS = ("__iter__", "__arrow_c_array__", "__arrow_c_stream__")


class Token(NamedTuple):
    """A feature's text and where it stands in the original string: `original[start:end]`."""

    text: str
    start: int
    end: int


# Words repeat: without the caches here and in `dictionary._is_word`, Chinese (10,000 headlines of THUCNews) takes 16 %
# longer.
@lru_cache(1 << 16)
def normalise(text: str) -> str:
    """NFKC, then case folding.

    >>> normalise("Ｗｉ‐Ｆｉ ﾊﾟｿｺﾝ Straße")
    'wi‐fi パソコン strasse'
    """
    return text.lower() if text.isascii() else normal.nfkc_casefold(text)


def is_given(texts: Any) -> bool:
    """Tell whether documents come as tokens or counts, not as text."""
    if not isinstance(texts, (list, tuple)) or not texts or isinstance(texts[0], str):
        return False
    return isinstance(texts[0], (list, tuple, Mapping))


def whole(values: Any) -> Any:
    """The values; a lazy sequence, such as a column of Hugging Face's `datasets`, is read all at once.

    One by one, 100,000 labels take 8 s; in one slice, 0.01 s.

    >>> whole(range(3)), whole(iter("ab"))
    (range(0, 3), ['a', 'b'])
    """
    if type(values) is list:
        return values
    if not hasattr(values, "__len__") and hasattr(values, "__iter__"):
        return list(values)
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes, list, tuple)):
        with suppress(TypeError):  # a deque has no slices
            return values[:]
    return values


def strings(texts: Any) -> pa.Array | list[str]:
    """Texts as one Arrow string array, or a list if they are few; valid UTF-8 without nulls."""
    if isinstance(texts, list) and len(texts) <= FEW:
        for text in texts:
            if not isinstance(text, str) or (not text.isascii() and _SURROGATE(text)):
                _explain(texts)
        return texts
    if isinstance(texts, str):
        raise DataError("texts should be a list of strings, not one string: put it into a list")
    if isinstance(texts, (Mapping, Set)) or not any(hasattr(texts, name) for name in _ARRAYS):
        raise DataError(f"texts should be a list of strings, not {type(texts).__name__}")
    array = _to_arrow(whole(texts))
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else pa.chunked_array(array).combine_chunks()
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_dictionary(array.type):
        # Not dictionary_decode: it knows no string_view, the type of polars.
        words = array.dictionary
        array = (words.cast(pa.large_string()) if pa.types.is_string_view(words.type) else words).take(array.indices)
    if pa.types.is_string_view(array.type) or pa.types.is_null(array.type):
        array = array.cast(pa.large_string())
    if pa.types.is_struct(array.type):
        raise DataError("texts should be one column of strings, not a table or mappings: give for example df['text']")
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        raise DataError("token lists should come in a Python list: call .tolist(), .to_list() or .to_pylist() first")
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        raise DataError(f"texts should be strings, not {array.type}")
    if array.null_count:
        _explain(array.to_pylist())
    return array


def _to_arrow(texts: Any) -> pa.Array | pa.ChunkedArray:
    if isinstance(texts, (pa.Array, pa.ChunkedArray)):
        return validate(texts)
    if hasattr(texts, "__arrow_c_array__"):
        return validate(pa.array(texts))
    if hasattr(texts, "__arrow_c_stream__"):
        return validate(pa.chunked_array(texts))
    if not isinstance(texts, (list, tuple)):
        texts = texts.tolist() if hasattr(texts, "tolist") else list(texts)
    try:
        return pa.array(texts, pa.string())
    except pa.ArrowInvalid:
        pass
    except (pa.ArrowTypeError, UnicodeEncodeError):
        _explain(texts)
    try:
        return pa.array(texts, pa.large_string())
    except (pa.ArrowException, UnicodeEncodeError) as error:
        _explain(texts)
        raise DataError(f"texts cannot be read as strings: {error}") from error


def are_blank(texts: pa.Array | list[Any]) -> npt.NDArray[np.bool_]:
    """Mark the documents that are empty, or have only spaces.

    >>> are_blank(["a", " \\n", ""]).tolist(), are_blank([["a"], []]).tolist()
    ([False, True, True], [False, True])
    >>> are_blank(pa.array(["", " \\n", "a", "\\u3000" * 100])).tolist()
    [True, True, False, True]
    """
    if isinstance(texts, list):
        return np.array([not (text.strip() if isinstance(text, str) else text) for text in texts], bool)
    import pyarrow.compute as pc

    # Not utf8_trim_whitespace: it copies the texts, and takes 7 to 100 times as long.
    found = pc.or_(pc.utf8_is_space(texts), pc.equal(pc.binary_length(texts), 0))
    return np.asarray(found.to_numpy(zero_copy_only=False), bool)


def to_list(texts: pa.Array | list[str]) -> list[str]:
    """Texts as strings of Python."""
    return texts if isinstance(texts, list) else texts.to_pylist()


def pick(texts: pa.Array | list[str], rows: Any) -> list[str]:
    """Some of the texts."""
    return [texts[r] for r in rows] if isinstance(texts, list) else texts.take(rows).to_pylist()


def _explain(texts: Sequence[Any]) -> None:
    """Raise an error that names the wrong document, if there is one."""
    for row, text in enumerate(texts):
        if text is None:
            raise DataError(f"text {row} is missing (null): fill it with an empty string or leave the row out")
        if not isinstance(text, str):
            raise DataError(f"text {row} should be a string, not {type(text).__name__}")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise EncodingError(
                f"text {row} has a lone surrogate at character {error.start}, which no encoding can hold",
                row,
                hint=(Step("replace-surrogate"),),
            ) from error


def validate(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the array if its strings are valid UTF-8; else raise: no kernel may see others.

    Every door checks, also after a reader has checked: it takes 0.1 s for a GB of ASCII, 0.4 s for a GB of CJK.
    """
    try:
        parts = stretches(len(array), _AT_ONCE * len(array) // max(array.nbytes, 1) + 1)
        each_slice(lambda lo, hi: array.slice(lo, hi - lo).validate(full=True), parts)
    except pa.ArrowInvalid as error:
        raise EncodingError(f"text is not valid UTF-8: {error}. Decode it with its own encoding first") from error
    return array


def buffers(array: pa.Array | list[str]) -> Documents:
    """The buffers of a string array, without a copy of the text."""
    if isinstance(array, list):
        return of_bytes([text.encode() for text in array])
    wide = pa.types.is_large_string(array.type)
    _, offsets, data = array.buffers()
    numbers = np.frombuffer(offsets, np.int64 if wide else np.int32) if offsets else np.zeros(1, np.int32)
    numbers = numbers[array.offset : array.offset + len(array) + 1].astype(np.int64)
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.frombuffer(b"", np.uint8)
    # Some buffers of Arrow can be written, and others cannot: numba would compile the kernels once for each kind.
    text.flags.writeable = False
    return Documents(text, numbers, NO_COUNTS, NO_COUNTS, NONE_FOLDED)


def of_bytes(texts: Sequence[bytes]) -> Documents:
    """Buffers for a few short texts: quicker than through Arrow."""
    offsets = np.array([0, *accumulate(map(len, texts))], np.int64)
    return Documents(np.frombuffer(b"".join(texts), np.uint8), offsets, NO_COUNTS, NO_COUNTS, NONE_FOLDED)


def given(documents: Iterable[Any]) -> Documents:
    """Documents that are lists of tokens, or mappings from word to count."""
    if isinstance(documents, list) and set(map(type, documents)) == {list}:
        tokens = list(chain.from_iterable(documents))
        # Through Arrow, many tokens take 0.2 of the time of the loop below, which finds mistakes in them.
        if len(tokens) > _MANY and set(map(type, tokens)) == {str}:
            with suppress(pa.ArrowInvalid, UnicodeEncodeError):
                ends = np.cumsum([0, *map(len, documents)], dtype=np.int64)
                return buffers(pa.array(tokens, pa.large_string()))._replace(lists=ends)
    words: list[bytes] = []
    counts: list[int] = []
    lists = [0]
    weighted = False
    for row, document in enumerate(documents):
        if isinstance(document, Mapping):
            weighted = True
            for word, count in document.items():
                if _check_count(row, word, count):
                    words.append(_encode(row, word))
                    counts.append(int(count))
        elif isinstance(document, (list, tuple)):
            words += [_encode(row, word) for word in document]
            counts += [1] * len(document)
        else:
            raise DataError(
                f"document {row} should be a list of tokens or a mapping from word to count like the first, "
                f"not {type(document).__name__}"
            )
        lists.append(len(words))
    if weighted and sum(counts) > MAX_COUNT:
        raise DataError(f"the counts of one call add up to more than {MAX_COUNT:,}: give fewer documents at a time")
    text = of_bytes(words)
    return text._replace(lists=np.array(lists, np.int64), counts=np.array(counts, np.int64) if weighted else NO_COUNTS)


def _encode(row: int, word: Any) -> bytes:
    if not isinstance(word, str):
        raise DataError(f"document {row} has the token {word!r}, which is not a string")
    try:
        return word.encode()
    except UnicodeEncodeError as error:
        raise EncodingError(f"document {row} has the token {word!r} with a lone surrogate") from error


def _check_count(row: int, word: Any, count: Any) -> bool:
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)):
        raise DataError(f"document {row} counts {word!r} {count!r} times: counts are whole numbers")
    if count < 0:
        raise DataError(f"document {row} counts {word!r} {count} times: counts are not negative")
    return bool(count > 0)


# --- hard documents


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
        folded = normal.folded(docs.data[start:end].tobytes().decode(), form)
        new = np.frombuffer(b"".join([piece.encode() for piece in folded]), np.uint8)
        pieces += docs.data[done:start], new
        sizes[row] = len(new)
        done = end
    data = np.concatenate([*pieces, docs.data[done : docs.offsets[-1]]])
    return docs._replace(data=data, offsets=np.concatenate([[0], np.cumsum(sizes)]), folded=hard)
