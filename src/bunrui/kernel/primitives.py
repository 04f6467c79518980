"""The needs of the loops beyond plain Python: wrapping integers, eight-byte loads, hints to the processor.

Every kernel is an ordinary Python function over one-dimensional buffers.  It runs in two ways:

plain     as it stands; buffers are memoryviews, so that an element is a Python int or float
compiled  through numba (`compile.py`), where each name of this module is replaced by its twin there

Rules that make one source serve both: unsigned 64-bit arithmetic goes through `u64`, and results that may overflow
are masked with `M64`; never add a plain number to a u64 (numba turns uint64 + int64 into float64), write `ONE` or
`u64(3)`; compare a u64 with a u64, too (`n < 8` made prediction 4 % slower than `n < EIGHT`), but shift it by plain
numbers; constants that must be unsigned are `U64`; buffers that are read with `load64` are padded by 64 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


def inline(function: F) -> F:
    """Mark a small function that hot loops call: compiled, it becomes part of its caller.

    A call with tuples of arrays costs more than most of these functions do (docs/decisions/002).
    """
    function.__dict__["inline"] = True
    return function


class U64(int):
    """An unsigned constant: an int here, `numpy.uint64` in compiled code."""


ZERO, ONE, TWO, THREE, FOUR, SEVEN, EIGHT = map(U64, (0, 1, 2, 3, 4, 7, 8))
M32 = U64(0xFFFF_FFFF)
M64 = U64(0xFFFF_FFFF_FFFF_FFFF)


def u64(x: int) -> int:
    """`x` as an unsigned 64-bit integer."""
    return x


def i64(x: int) -> int:
    """`x` as a signed 64-bit integer (an index, a length)."""
    return x


def load64(buffer: Sequence[int], i: int) -> int:
    """Eight bytes of `buffer` from `i`, little-endian."""
    return int.from_bytes(bytes(buffer[i : i + 8]), "little")


def ctz(x: int) -> int:
    """Trailing zero bits of `x`; 64 where it is zero."""
    return (x & -x).bit_length() - 1 if x else 64


def popcount(x: int) -> int:
    """The number of bits that are set."""
    return x.bit_count()


def prefetch(array: Sequence[float], i: int) -> None:
    """Say that `array[i]` will be read soon."""


def nonzero64(buffer: Sequence[int], i: int) -> int:
    """A bit for each of 64 bytes of `buffer` from `i`: set where the byte is not zero."""
    return sum(1 << j for j in range(64) if buffer[i + j])


def fold_words64(src: Sequence[int], i: int, out: Any, o: int) -> int:
    """Fold 64 ASCII bytes: word characters in lower case, all others to 0; the mask of the bytes that are not ASCII."""
    chunk = bytes(src[i : i + 64])
    out[o : o + 64] = chunk.translate(_FOLD_WORDS)
    return sum(1 << j for j in range(64) if chunk[j] > 127) if not chunk.isascii() else 0


def fold_ascii64(src: Sequence[int], i: int, out: Any, o: int) -> int:
    """Copy 64 ASCII bytes in lower case; a bit for each that is a letter or a digit."""
    chunk = bytes(src[i : i + 64]).lower()
    out[o : o + 64] = chunk
    return sum(1 << j for j in range(64) if chunk[j] < 128 and chr(chunk[j]).isalnum())


def printable64(buffer: Sequence[int], i: int) -> int:
    """A bit for each of 64 bytes of `buffer` from `i`: set for ASCII that is neither a control nor a space."""
    return sum(1 << j for j in range(64) if 0x21 <= buffer[i + j] <= 0x7E)


def wide64(buffer: Sequence[int], i: int) -> int:
    """A bit for each of 64 bytes of `buffer` from `i`: set where the byte is not ASCII."""
    return sum(1 << j for j in range(64) if buffer[i + j] > 127)


def equal4(words: Sequence[int], i: int, x: int) -> int:
    """A bit for each of four words from `i`: set where it is `x`."""
    return sum(1 << j for j in range(4) if words[i + j] == x)


# Characters in UTF-8: ranges of the first byte, the second, the third.  All that are not among the doubtful ones never
# make a text hard to fold (`analyze.find_hard`); the tests derive it from the tables.
Rule = tuple[tuple[int, int], ...]
DOUBTFUL: tuple[Rule, ...] = (
    ((0xC2, 0xC2),),  # ½
    ((0xCC, 0xCF),),  # combining marks; Greek, for the sake of two letters
    ((0xD2, 0xE0),),  # from the marks of Cyrillic on: Hebrew, Arabic, the scripts of India, Thai, Lao, Tibetan
    ((0xE1, 0xE1), (0x80, 0xB7)),  # all but the letters of Vietnamese and of old Greek
    ((0xE2, 0xE2), (0x81, 0xBF)),  # all but the usual punctuation
    ((0xE3, 0xE3), (0x80, 0x80), (0xAA, 0xAF)),
    ((0xE3, 0xE3), (0x82, 0x82), (0x99, 0x9A)),  # the voice marks of kana
    ((0xE3, 0xE3), (0x84, 0x8F)),  # letters of hangul that stand alone; words in squares
    ((0xEA, 0xEA), (0x80, 0xAF)),
    ((0xED, 0xED), (0x9E, 0x9F)),
    ((0xEF, 0xEF), (0x80, 0xBB)),
    ((0xEF, 0xEF), (0xBE, 0xBF)),  # half-width kana and hangul
    ((0xF0, 0xF0), (0x80, 0x9E)),  # all but emoji
    ((0xF0, 0xF0), (0xA0, 0xBF)),
    ((0xF1, 0xFF),),
)

# İ, which becomes two characters in lower case, and Σ, which has two forms.
LOWERING: tuple[Rule, ...] = (((0xC4, 0xC4), (0xB0, 0xB0)), ((0xCE, 0xCE), (0xA3, 0xA3)))


def doubtful64(buffer: Sequence[int], i: int) -> int:
    """A bit for each of 64 bytes of `buffer` from `i`: set where a character of DOUBTFUL begins; reads two more."""
    return _beginning(buffer, i, DOUBTFUL)


def lowering64(buffer: Sequence[int], i: int) -> int:
    """The same for LOWERING."""
    return _beginning(buffer, i, LOWERING)


def _beginning(buffer: Sequence[int], i: int, rules: Sequence[Rule]) -> int:
    return sum(1 << j for j in range(64) if any(_matches(buffer, i + j, rule) for rule in rules))


def _matches(buffer: Sequence[int], i: int, rule: Rule) -> bool:
    return all(first <= buffer[i + k] <= last for k, (first, last) in enumerate(rule))


def copy16(src: Sequence[int], i: int, out: Any, o: int) -> None:
    """Copy 16 bytes."""
    out[o : o + 16] = src[i : i + 16]


# SHA-256 (FIPS 180-4): the first 32 bits of the fractions of the square roots of the first eight primes, and of the
# cube roots of the first 64.
_PRIMES = [n for n in range(2, 312) if all(n % k for k in range(2, n))]
SHA256_START = tuple(int(p**0.5 % 1 * 2**32) for p in _PRIMES[:8])
SHA256_ROUNDS = tuple(int(p ** (1 / 3) % 1 * 2**32) for p in _PRIMES)


def sha256_rounds(state: Any, message: Any) -> list[Any]:
    """The state after a block: 8 words of state and 16 of the message, each a vector of numbers of 32 bits."""
    a, b, c, d, e, f, g, h = state
    w = list(message)
    for t, constant in enumerate(SHA256_ROUNDS):
        if t >= 16:
            x, y = w[t - 15], w[t - 2]
            s0 = _rotated(x, 7) ^ _rotated(x, 18) ^ x >> 3
            w.append(w[t - 16] + s0 + w[t - 7] + (_rotated(y, 17) ^ _rotated(y, 19) ^ y >> 10))
        one = h + constant + w[t] + (_rotated(e, 6) ^ _rotated(e, 11) ^ _rotated(e, 25)) + (g ^ e & (f ^ g))
        two = (_rotated(a, 2) ^ _rotated(a, 13) ^ _rotated(a, 22)) + (a & b | c & (a | b))
        a, b, c, d, e, f, g, h = one + two, a, b, c, d + one, e, f, g
    return [old + new for old, new in zip(state, (a, b, c, d, e, f, g, h), strict=True)]


def _rotated(x: Any, n: int) -> Any:
    return x >> n | x << (32 - n)


def sha256_block8(state: Any, buffer: Sequence[int], i: int, stride: int) -> None:
    """A block of SHA-256 for eight messages side by side, of 64 bytes from i, i + stride, …; state is (8, 8)."""
    lanes = [np.frombuffer(bytes(buffer[at : at + 64]), ">u4") for at in range(i, i + 8 * stride, stride)]
    before = np.array(state, np.uint32).reshape(8, 8)
    for k, x in enumerate(np.ravel(sha256_rounds(before, np.array(lanes, np.uint32).T)).tolist()):
        state[k] = x


_FOLD_WORDS = bytes(ord(chr(c).lower()) if c < 128 and (chr(c).isalnum() or c == 95) else 0 for c in range(256))
