"""`AnalyzerSpec`: the options of an analyzer, and their fingerprint, which is stored beside the counts.

Two analyzers with the same fingerprint make the same features from every text.  Counts with different fingerprints
refuse to merge.

A user's function has a fingerprint, too.  It is a digest of the function's code, its defaults and its closure, and the
same in every process.  The code depends on the version of Python: to keep the fingerprint under another version, set an
attribute, `tokens.fingerprint = "mine, 1"`.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType
from typing import Any

from bunrui.analysis.texts import normalise
from bunrui.errors import DataError, EncodingError, Option, OptionError
from bunrui.kernel import normal
from bunrui.kernel.ngrams import MAX_ORDER, MOST_BITS
from bunrui.kernel.reference import EMOTICONS
from bunrui.kernel.unicode import UNICODE_VERSION

# Raised whenever a change of the code changes the features of some text.
VERSION = 1
DICTIONARIES = ("ja", "zh", "ko")
FEWEST_BITS = 8
_NAMES = ("universal", "words", *DICTIONARIES, "columns")

# The kinds that a column of a table can have.
KINDS = ("text", "categorical", "numeric", "gaussian", "binned", "date", "skip")


@dataclass(frozen=True, kw_only=True)
class AnalyzerSpec:
    r"""How text becomes features.

    Parameters
    ----------
    name : {"universal", "words", "ja", "zh", "ko", "columns"}
        `universal` reads any script without a dictionary, `words` finds `\w+`, `ja`, `zh` and `ko` use a dictionary.
        `columns` reads rows of tables, each a JSON object, and takes no option but `kinds`.
    words : int, optional
        The longest n-gram of words: 2 for `universal`, 1 for the others.
    punctuation : bool
        Whether punctuation marks are features (`universal`).
    across : bool
        Whether n-grams of characters go across spaces and punctuation (`universal`).
    kana_han, hangul, unspaced : pair of int
        The shortest and longest n-gram of characters in Kana and Han, in Hangul, and in Thai, Lao, Khmer and Myanmar.
    stop_words : iterable of str, or a path
        Words to leave out; a file has one a line.
    urls, mentions, numbers : bool
        Fold each of these to one feature.
    html : bool
        Take the text out of HTML first.
    pos : tuple of str, optional
        Parts of speech to keep (dictionaries).
    base_forms : bool
        Words in their dictionary form (dictionaries).
    hash_bits : int
        Hash features into 2 ** hash_bits buckets (8 to 28 bits); 0 does not hash.  The features of one bucket cannot be
        told apart.  Not for `columns`.
    kinds : mapping from column to kind, optional
        The kinds of some columns for the model `columns`; its rule decides the others: "text", "categorical",
        "numeric", "gaussian", "binned", "date" or "skip" (`columns`).  They change no feature.

    Examples
    --------
    >>> AnalyzerSpec(name="words", words=2).describe()
    'words, 1–2-grams'
    >>> AnalyzerSpec(name="words").fingerprint == AnalyzerSpec(name="words", words=1).fingerprint
    True
    """

    name: str = "universal"
    words: int | None = None
    punctuation: bool = True
    across: bool = True
    kana_han: tuple[int, int] = (1, 3)
    hangul: tuple[int, int] = (1, 4)
    unspaced: tuple[int, int] = (1, 4)
    stop_words: Any = ()  # after initialisation a tuple of str
    urls: bool = False
    mentions: bool = False
    numbers: bool = False
    html: bool = False
    pos: tuple[str, ...] | None = None
    base_forms: bool = False
    hash_bits: int = 0
    kinds: Any = ()  # after initialisation a tuple of pairs, sorted

    def __post_init__(self) -> None:
        if self.name not in _NAMES:
            raise OptionError(option="analyzer", value=self.name, choices=_NAMES)
        fold = normal.lower if self.name == "words" else normalise
        object.__setattr__(self, "stop_words", read_stop_words(self.stop_words, fold) if self.stop_words else ())
        if self.words is None:
            object.__setattr__(self, "words", 2 if self.name == "universal" else 1)
        for field in ("kana_han", "hangul", "unspaced"):
            pair = getattr(self, field)
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                expected = "the shortest and longest n-gram, such as (1, 3)"
                raise OptionError(option=field, value=pair, expected=expected)
            object.__setattr__(self, field, tuple(pair))
        for low, high in ((1, self.words), self.kana_han, self.hangul, self.unspaced):
            whole = not isinstance(low, bool) and not isinstance(high, bool)
            if not (whole and isinstance(low, int) and isinstance(high, int) and 1 <= low <= high <= MAX_ORDER):
                raise OptionError(f"n-grams have 1 to {MAX_ORDER} parts, the shortest first, not {low!r} to {high!r}")
        if (self.pos is not None or self.base_forms) and self.name not in DICTIONARIES:
            only = f" are for the analyzers {', '.join(DICTIONARIES)}, not {self.name!r}"
            raise OptionError((Option("pos"), " and ", Option("base_forms"), only))
        bits = self.hash_bits
        if isinstance(bits, bool) or not isinstance(bits, int) or (bits and not FEWEST_BITS <= bits <= MOST_BITS):
            expected = f"{FEWEST_BITS} to {MOST_BITS}, or 0 to hash nothing"
            raise OptionError(option="hash_bits", value=bits, expected=expected)
        self._check_columns()

    def _check_columns(self) -> None:
        try:
            kinds = dict(self.kinds)
        except (TypeError, ValueError) as error:
            expected = "a mapping from column to kind"
            raise OptionError(option="kinds", value=self.kinds, expected=expected) from error
        for column, kind in kinds.items():
            if not isinstance(column, str) or not column:
                named = f" names the column {column!r}: give a string that is not empty"
                raise OptionError((Option("kinds"), named))
            if kind not in KINDS:
                raise OptionError(f"there is no kind {kind!r} of column", option="kinds", value=kind, choices=KINDS)
        object.__setattr__(self, "kinds", tuple(sorted(kinds.items())))
        if self.name != "columns":
            if kinds:
                raise OptionError((Option("kinds"), f" is for the analyzer 'columns', not {self.name!r}: leave it out"))
            return
        others = (self.stop_words, self.html, self.urls, self.mentions, self.numbers, self.hash_bits)
        if self.words != 1 or any(others):
            raise OptionError("the analyzer 'columns' takes no option but kinds: leave the others out")

    @property
    def fingerprint(self) -> str:
        """A digest of everything that decides the features."""
        known: dict[str, Any] = asdict(self)
        del known["kinds"]
        if not self.hash_bits:
            del known["hash_bits"]
        if self.name != "universal":
            for field in ("punctuation", "across", "kana_han", "hangul", "unspaced"):
                del known[field]
        known |= {"version": VERSION, "unicode": UNICODE_VERSION, "emoticons": EMOTICONS}
        if self.name == "columns" or self.html or self.urls or self.mentions or self.numbers:
            # Regular expressions know the letters and digits of the Python that runs.
            known["rewriting"] = unicodedata.unidata_version
        return digest(known)

    def describe(self) -> str:
        """The spec in a few words."""
        if self.name == "columns":
            return ", ".join([self.name, *(f"{column}={kind}" for column, kind in self.kinds)])
        parts = [self.name, "words" if self.words == 1 else f"1–{self.words}-grams"]
        if self.name == "universal":
            parts.append("characters {}–{} (kana, han), {}–{} (hangul)".format(*self.kana_han, *self.hangul))
        parts += [switch for switch in ("html", "urls", "mentions", "numbers", "base_forms") if getattr(self, switch)]
        if self.stop_words:
            parts.append(f"{len(self.stop_words)} stop words")
        if self.hash_bits:
            parts.append(f"hashed to 2**{self.hash_bits} buckets")
        return ", ".join(parts)

    def replace(self, **changes: Any) -> AnalyzerSpec:
        """A spec with some fields changed."""
        return replace(self, **changes)


def digest(known: dict[str, Any]) -> str:
    """A fingerprint of values that JSON can hold."""
    text = json.dumps(known, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


# --- stop words

_COMMENT = re.compile(r"(?:^|\s)#.*")


def read_stop_words(source: Iterable[str] | Path | str, fold: Callable[[str], str] = normalise) -> tuple[str, ...]:
    """Stop words in the form of features: folded (by default NFKC and case folding), sorted, each once.

    Parameters
    ----------
    source : iterable of str, Path or str
        The words, or the path of a UTF-8 file (a str is a path).  In a file, `#` at the start of a line or after white
        space begins a comment, so that `c#` is a word; blank lines are left out.
    fold : function of str
        How the analyzer writes its words.

    Raises
    ------
    DataError
        For a file that cannot be read, with its name, and the line that is not UTF-8; for a word that is not a str.

    Examples
    --------
    >>> read_stop_words(["The", "Ａ", "the", "です"])
    ('a', 'the', 'です')
    """
    words = _read_lines(Path(source)) if isinstance(source, str | Path) else list(source)
    for word in words:
        if not isinstance(word, str):
            raise DataError(f"stop words should be strings, not {word!r}: give a list of words, or a path")
    return tuple(sorted({fold(word).strip() for word in words} - {""}))


def _read_lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError.of_system(error) from error
    except ValueError as error:  # a path with a NUL
        hint = "give a file with a word a line"
        raise DataError(f"this is no path ({error})", option="stop_words", hint=hint) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = "save the stop words as UTF-8"
        raise EncodingError("this is not valid UTF-8", file=str(path), line=line, hint=hint) from error
    return [_COMMENT.sub("", line) for line in text.splitlines()]


# --- functions

_PLAIN = (str, bytes, int, float, bool, type(None))


def function_fingerprint(function: Callable[..., Any]) -> str:
    """A digest of a function.

    Raises
    ------
    OptionError
        For a callable object whose doing cannot be seen and that has no attribute `fingerprint`.

    Examples
    --------
    >>> function_fingerprint(lambda text: text.split(",")) == function_fingerprint(lambda text: text.split(";"))
    False
    """
    return digest({"function": _describe(function)})


def _describe(value: Any) -> Any:
    """A value as something that JSON can hold, without an address in it."""
    given = getattr(value, "fingerprint", None)
    if isinstance(given, str):
        return ["fingerprint", given]
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(_describe, value)]
    if isinstance(value, (set, frozenset)):
        return ["set", *sorted(map(repr, map(_describe, value)))]
    if isinstance(value, dict):
        return ["dict", *sorted(repr((_describe(k), _describe(v))) for k, v in value.items())]
    if isinstance(value, CodeType):
        return [value.co_code.hex(), _describe(value.co_consts), list(value.co_names)]
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        inside = map(_describe, (value.__code__, value.__defaults__, cells))
        return [value.__module__, value.__qualname__, *inside]
    if isinstance(value, partial):
        return ["partial", _describe(value.func), _describe(value.args), _describe(value.keywords)]
    if isinstance(value, (BuiltinFunctionType, MethodDescriptorType, type)):
        return [getattr(value, "__module__", None), value.__qualname__]
    raise OptionError(
        f"an analyzer of type {type(value).__name__} cannot be told from others of its kind: "
        'give it an attribute fingerprint, a string such as "my tokens, version 1"'
    )
