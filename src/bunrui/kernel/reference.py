r"""The features of a text, in plain Python: the specification of the kernels, and the path of `explain`.

    words       `re.findall(r"\w+", text.lower())` and n-grams of it
    universal   folded text → units → n-grams, for any script
    bucket      feature → the name that stands in its place where features are hashed

The first two give `(feature, start, end)` with places in the original text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from bunrui.kernel import normal, unicode
from bunrui.kernel.unicode import EMOJI, KANA_HAN, KEYCAP, MARK, PUNCT, REGIONAL, SPACE, UNSPACED, VS16, WORD, ZWJ

Feature = tuple[str, int, int]

# fmt: off
EMOTICONS = (
    ":)", ":-)", ":]", ":-]", "=)", "=]", ";)", ";-)", ";]", ":d", ":-d", "=d", ";d", ":p", ":-p", "=p", ";p", ":b",
    ":-b", ":')", ":'-)", ":*", ":-*", ":x", ":-x", ":3", ">:3", ":>", ":->", ":}", ":-}", ":(", ":-(", ":[", ":-[",
    "=(", "=[", ";(", ":'(", ":'-(", ":,(", ":c", ":-c", ":<", ":-<", ":{", ":/", ":-/", ":\\", ":-\\", "=/", ":|",
    ":-|", "=|", ":o", ":-o", "=o", ":0", ":s", ":-s", ":$", ":@", ":-@", ">:(", ">:-(", ">:)", "<3", "</3", "<\\3",
    "(:", "(-:", "(;", "):", ")-:", "(^_^)", "(^^)", "(^o^)", "(^-^)", "^_^", "^^", "^-^", "^o^", "-_-", "(-_-)",
    "(>_<)", ">_<", "(t_t)", "(;_;)", ";_;", "(._.)", "._.", "(@_@)", "@_@", "(*_*)", "*_*", "($_$)", "(o_o)",
    "(x_x)", "\\o/", "=^_^=", "(*^_^*)", "(^_~)", "^.^", "-.-", ">.<", ">:d", ":-3",
)
# fmt: on
_EMOTICONS = frozenset(EMOTICONS)
_LONGEST_EMOTICON = max(map(len, EMOTICONS))


class Unit(NamedTuple):
    """A word or a character of the folded text, with the n-grams that may end at it."""

    text: str
    start: int
    end: int
    shortest: int
    longest: int


class Orders(NamedTuple):
    """Lengths of n-grams, and whether they may cross punctuation and spaces."""

    words: int
    punctuation: bool
    across: bool
    scripts: Mapping[int, tuple[int, int]]  # KANA_HAN, HANGUL, UNSPACED: shortest and longest


@cache
def word_characters(signs: bool) -> unicode.Bools:
    r"""Mark the code points that are part of a word: `\w`, and with `signs` the placeholders of rewritten text."""
    table = unicode.word().copy()
    table[0xE000:0xE008] = signs
    return table


def words(text: str, order: int, stop: Collection[str] = (), signs: bool = False) -> list[Feature]:
    """Runs of word characters of the lower-case text, and n-grams of up to `order` of them."""
    folded, starts, ends = normal.aligned(text, "lower")
    is_word = word_characters(signs)
    units: list[Unit] = []
    i = 0
    while i < len(folded):
        j = i
        while j < len(folded) and is_word[ord(folded[j])]:
            j += 1
        if j > i and folded[i:j] not in stop:
            units.append(Unit(folded[i:j], i, j, 1, min(len(units) + 1, order)))
        i = max(j, i + 1)
    return list(_ngrams(units, " ", starts, ends))


def universal(text: str, orders: Orders, stop: Collection[str] = ()) -> list[Feature]:
    """Words, marks, emoticons and emoji with their n-grams, and n-grams of characters in scripts without spaces."""
    folded, starts, ends = normal.aligned(text, "nfkc")
    features: list[Feature] = []
    chain: list[Unit] = []
    for kind, start, end in _segments(folded, orders):
        if kind == PUNCT and end - start > 1 and orders.punctuation:
            # An emoticon: its marks one by one, then all of it.
            for i in range(start, end):
                if folded[i] not in stop:
                    chain.append(Unit(folded[i], i, i + 1, 1, min(len(chain) + 1, orders.words)))
        if kind in orders.scripts:
            features += _ngrams(chain, " ", starts, ends)
            chain = []
            characters = list(_characters(folded, start, end, orders.scripts[kind]))
            features += _ngrams(characters, "", starts, ends)
            continue
        unit = folded[start:end]
        if kind == EMOJI:
            unit = unit.replace("\ufe0f", "")
        if unit not in stop:
            chain.append(Unit(unit, start, end, 1, min(len(chain) + 1, orders.words)))
    return features + list(_ngrams(chain, " ", starts, ends))


def _ngrams(units: Sequence[Unit], joint: str, starts: Sequence[int], ends: Sequence[int]) -> Iterator[Feature]:
    for i, unit in enumerate(units):
        for n in range(unit.shortest, unit.longest + 1):
            run = units[i - n + 1 : i + 1]
            covered = [u for u in run if u.end > u.start]
            yield joint.join(u.text for u in run), starts[covered[0].start], ends[covered[-1].end - 1]


def _segments(folded: str, orders: Orders) -> Iterator[tuple[int, int, int]]:
    """(kind, start, end): a word, a mark, an emoticon, an emoji, or a run of a script without spaces."""
    table = unicode.char_class()
    kinds = [int(table[ord(c)]) for c in folded]
    n = len(folded)
    i = 0
    while i < n:
        kind = kinds[i]
        j = i + 1
        if kind in (SPACE, ZWJ, VS16, KEYCAP):
            i = j
            continue
        if _keycap_end(folded, kinds, i):
            kind, j = EMOJI, _keycap_end(folded, kinds, i)
        elif (script := _script(folded, kinds, i)) is not None:
            kind, j = script, i
            inside = (kind, MARK, PUNCT, SPACE) if orders.across else (kind, MARK)
            while j < n and (kinds[j] in inside or _digits_join(folded, kinds, j)):
                j = max(j + 1, _digits_end(folded, j))
        elif kind in (WORD, MARK):
            while j < n and kinds[j] in (WORD, MARK) and not _keycap_end(folded, kinds, j):
                j += 1
        elif kind == PUNCT:
            j = i + (_emoticon(folded, kinds, i) or 1)
            if j == i + 1 and not orders.punctuation and folded[i:j] not in _EMOTICONS:
                i = j
                continue
        elif kind == REGIONAL:
            j = i + 2 if kinds[j : j + 1] == [REGIONAL] else j
        else:
            kind = EMOJI
            while j < n:
                if kinds[j] == ZWJ and kinds[j + 1 : j + 2] == [EMOJI]:
                    j += 2
                elif kinds[j] in (unicode.MODIFIER, VS16):
                    j += 1
                else:
                    break
        yield kind, i, j
        i = j


def _digits_end(folded: str, i: int) -> int:
    while i < len(folded) and folded[i] in "0123456789":
        i += 1
    return i


def _script(folded: str, kinds: Sequence[int], i: int) -> int | None:
    """The script of the run that begins at `i`, perhaps with digits."""
    j = _digits_end(folded, i)
    return kinds[j] if j < len(folded) and KANA_HAN <= kinds[j] <= UNSPACED else None


def _digits_join(folded: str, kinds: Sequence[int], i: int) -> bool:
    """Tell whether digits at `i` belong to the run before them: no word goes on after them."""
    j = _digits_end(folded, i)
    return j > i and kinds[j : j + 1] not in ([WORD], [MARK], [VS16], [KEYCAP])


def _keycap_end(folded: str, kinds: Sequence[int], i: int) -> int:
    """Where the keycap sequence at `i` ends, 0 if there is none."""
    if folded[i] not in "0123456789#*":
        return 0
    j = i + 2 if kinds[i + 1 : i + 2] == [VS16] else i + 1
    return j + 1 if kinds[j : j + 1] == [KEYCAP] else 0


def _emoticon(folded: str, kinds: Sequence[int], i: int) -> int:
    """The length of the longest emoticon at `i`, or 0."""
    for size in range(_LONGEST_EMOTICON, 0, -1):
        if folded[i : i + size] not in _EMOTICONS or i + size > len(folded):
            continue
        last, after = kinds[i + size - 1], kinds[i + size : i + size + 1]
        if last == WORD and after in ([WORD], [MARK]):
            continue
        if folded[i + size - 1 : i + size + 1] == "//":
            continue
        return size
    return 0


def _characters(folded: str, start: int, end: int, order: tuple[int, int]) -> Iterator[Unit]:
    """The characters of a run with a space at either edge, white space collapsed."""
    shortest, longest = order
    table = unicode.char_class()
    position = 1
    yield Unit(" ", start, start, max(shortest, 2), 1)
    in_space = False
    for i in range(start, end):
        is_space = table[ord(folded[i])] == SPACE
        if is_space and in_space:
            continue
        position += 1
        least = max(shortest, 2) if is_space else shortest
        yield Unit(" " if is_space else folded[i], i, i + 1, least, min(position, longest))
        in_space = is_space
    if not in_space:
        yield Unit(" ", end, end, max(shortest, 2), min(position + 1, longest))


def bucket(feature: str, bits: int) -> str:
    """The name of the bucket of a feature: eight bytes after eight into a hash, and the highest of 32 bits of it."""
    mask, text = (1 << 64) - 1, feature.encode()
    h = len(text) * 0xA076_1D64_78BD_642F & mask
    rest = len(text) % 8
    whole = len(text) - rest
    for at in range(0, whole, 8):
        h = (h ^ int.from_bytes(text[at : at + 8], "little")) * 0x9E37_79B9_7F4A_7C15 & mask
        h ^= h >> 32
    last = int.from_bytes(text[whole:] + b"\xff" * (8 - rest), "little")
    h = (h ^ last) * 0x9E37_79B9_7F4A_7C15 & mask
    h = (h ^ (h >> 32)) * 0xD6E8_FEB8_6659_FD93 & mask
    return f"#{((h ^ (h >> 32)) & 0xFFFF_FFFF) >> (32 - bits):07x}"
