r"""A document → its features, by the options of scikit-learn's `CountVectorizer`.

    decode ─► preprocess ─► tokenize ─► stop words ─► n-grams

Each step is a plain function, and `Reading.analyze` has all of them.  `Reading.analyzer` has the kernels that find the
same features, where there are any: for the analyzers of this package, and for tokens by `\w+` or `\b\w\w+\b`.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sklearn.feature_extraction.text import (
    ENGLISH_STOP_WORDS,
    CountVectorizer,
    strip_accents_ascii,
    strip_accents_unicode,
)

from bunrui.analysis import Analyzer, AnalyzerSpec, analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import Plain
from bunrui.analysis.spec import read_stop_words
from bunrui.analysis.texts import Token
from bunrui.engines.matrix import Batches
from bunrui.errors import DataError, Option, OptionError, check_choice, is_whole
from bunrui.kernel import normal
from bunrui.kernel.analyze import Documents, Recipe
from bunrui.kernel.ngrams import MAX_ORDER
from bunrui.kernel.reference import word_characters
from bunrui.kernel.vocabulary import Vocabulary
from bunrui.kernel.workspace import restored

PATTERNS = {"words": r"\w+", "word": r"(?u)\b\w\w+\b"}
CHARACTERS = ("char", "char_wb")
NAMES = ("words", "universal", "ja", "zh", "ko", "columns", "word", *CHARACTERS)

# The fewest letters of a word, by the patterns that the kernels know.
_LETTERS = {re.compile(pattern): 1 for pattern in (r"\w+", r"\b\w+\b", r"(?u)\w+", r"(?u)\b\w+\b")}
_LETTERS |= {re.compile(pattern): 2 for pattern in (r"\b\w\w+\b", r"(?u)\b\w\w+\b", r"\w\w+", r"(?u)\w\w+")}
_ACCENTS = {"ascii": strip_accents_ascii, "unicode": strip_accents_unicode}
FEATURES_AT_ONCE = 1 << 20

Step = Callable[[Any], Any]


# The steps


@dataclass(frozen=True)
class Decode:
    """A file, the name of a file, bytes or a text → the text."""

    input: str
    encoding: str
    errors: str

    def __call__(self, document: Any) -> Any:
        if self.input == "filename":
            document = Path(document).read_bytes()
        elif self.input == "file":
            document = document.read()
        return document.decode(self.encoding, self.errors) if isinstance(document, bytes) else document

    def check(self) -> None:
        """Refuse options that nothing can be decoded by."""
        check_choice("input", self.input, ("content", "file", "filename"))
        check_choice("decode_error", self.errors, ("strict", "ignore", "replace"))
        try:
            codecs.lookup(self.encoding)
        except (LookupError, TypeError) as error:
            expected = "an encoding that Python knows, such as 'utf-8'"
            raise OptionError(option="encoding", value=self.encoding, expected=expected) from error

    def all(self, documents: Any) -> Any:
        """Documents with files and bytes as text; the same object where there are none."""
        if self.input == "content":
            is_list = isinstance(documents, list | tuple | np.ndarray)
            if not is_list or not any(isinstance(document, bytes) for document in documents):
                return documents
        return list(_each(self, documents))


@dataclass(frozen=True)
class Preprocess:
    """A text → the same in lower case, or without accents, or both."""

    lower: bool
    strip: Callable[[str], str] | None

    def __call__(self, text: str) -> str:
        text = text.lower() if self.lower else text
        return text if self.strip is None else self.strip(text)


def accents_of(strip_accents: Any) -> Any:
    """The function that takes accents away, or None."""
    if isinstance(strip_accents, str) and strip_accents in _ACCENTS:
        return _ACCENTS[strip_accents]
    if strip_accents is None or callable(strip_accents):
        return strip_accents
    expected = "'ascii', 'unicode', a function, or None"
    raise OptionError(option="strip_accents", value=strip_accents, expected=expected)


def find_by(pattern: Any) -> Callable[[str], list[str]]:
    """The tokens of a text by a pattern: its matches, or the group that it has."""
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        expected = f"a regular expression ({error})"
        raise OptionError(option="token_pattern", value=pattern, expected=expected) from error
    if compiled.groups > 1:
        hint = "leave one group, and write the others as (?:…)"
        raise OptionError("More than 1 capturing group in token pattern", option="token_pattern", hint=hint)
    return compiled.findall


@dataclass(frozen=True)
class Tokens:
    """A text → its features by an analyzer of this package; words with fewer than `letters` letters are left out."""

    spec: AnalyzerSpec
    letters: int = 1

    def __call__(self, text: str) -> list[str]:
        found = [token.text for token in analyzer_of(self.spec).features(text)]
        return found if self.letters == 1 else [token for token in found if len(token) >= self.letters]


@dataclass(frozen=True)
class LeaveOut:
    """Tokens without stop words; a token may come with its place."""

    stop: frozenset[str]

    def __call__(self, tokens: Iterable[str | Token]) -> list[str]:
        texts = [token if isinstance(token, str) else _text_of(token) for token in tokens]
        return [text for text in texts if text not in self.stop] if self.stop else texts


def _text_of(token: Any) -> str:
    if isinstance(token, tuple) and len(token) == 3:
        return str(token[0])
    raise DataError(f"an analyzer should give strings or (text, start, end), not {token!r}")


def make_ngrams(unit: str, orders: tuple[int, int]) -> Step:
    """The function of scikit-learn that makes n-grams: of tokens (`word`), or of the characters of a text.

    >>> make_ngrams("word", (1, 2))(["new", "york", "city"])
    ['new', 'york', 'city', 'new york', 'york city']
    >>> make_ngrams("char_wb", (3, 4))("a bc")
    [' a ', ' bc', 'bc ', ' bc ']
    """
    leave = {"preprocessor": _same, "tokenizer": _same, "token_pattern": None}
    analyze: Step = CountVectorizer(analyzer=unit, ngram_range=orders, **leave).build_analyzer()
    return analyze


def _same(document: Any) -> Any:
    return document


@dataclass(frozen=True)
class Chain:
    """Steps one after the other."""

    steps: tuple[Step, ...]

    def __call__(self, document: Any) -> Any:
        for step in self.steps:
            document = step(document)
        return document


# Kernels for words of two letters and more


class LongWords(Plain):
    r"""`words` without words of one letter: `\b\w\w+\b` of the lower-case text."""

    fingerprint = ""

    def __init__(self, spec: AnalyzerSpec) -> None:
        self._spec = spec
        self._inner = analyzer_of(spec)
        self.recipe: Recipe = self._inner.recipe._replace(stop=_letters_and(spec.stop_words))

    def documents(self, texts: pa.Array | list[str]) -> Documents:
        return self._inner.documents(texts)

    def features(self, text: str) -> list[Token]:
        return [token for token in analyzer_of(self._spec.replace(words=1)).features(text) if len(token.text) > 1]

    def describe(self) -> str:
        return f"{self._inner.describe()}, of two letters and more"


@lru_cache(4)
def _letters_and(stop: tuple[str, ...]) -> Vocabulary:
    """Stop words, and all words of one letter."""
    letters = np.flatnonzero(word_characters(False))
    words = [word.encode() for word in stop if len(word) > 1]
    sizes = 1 + (letters >= 0x80) + (letters >= 0x800) + (letters >= 0x10000)
    # At once: a string for each of 137,000 letters would take 100 ms.
    text = letters.astype("<u4").tobytes().decode("utf-32-le").encode() + b"".join(words)
    data = np.frombuffer(text + bytes(64), np.uint8).copy()
    return restored(data, np.append(sizes, [len(word) for word in words]).astype(np.int64))


# Documents → the input of the engine


class Reading(NamedTuple):
    """How documents are read.

    Attributes
    ----------
    decode : Decode
    analyze : function
        From a document to its features, in plain Python.
    analyzer : Analyzer or None
        The kernels that find the same features in texts.
    shortest : int
        The fewest words of an n-gram, where the kernels make n-grams.
    prepare : function or None
        From a document to the text that the kernels read; None where they read it as it is.
    takes_any : bool
        Whether a document may be anything, because a function of the user's reads it first.
    """

    decode: Decode
    analyze: Step
    analyzer: Analyzer | None = None
    shortest: int = 1
    prepare: Step | None = None
    takes_any: bool = False

    def read(self, documents: Any) -> tuple[Any, Analyzer, int]:
        """The input of the engine: texts or given features, or batches of features; the analyzer, the fewest words."""
        if isinstance(documents, str):
            hint = "put it into a list"
            raise DataError("Iterable over raw text documents expected, string object received", hint=hint)
        if isinstance(documents, Iterator):
            documents = list(documents)
        if self.analyzer is not None and self.prepare is None:
            return self.decode.all(documents), self.analyzer, self.shortest
        if not self.takes_any and self.decode.input == "content":
            documents = self.decode.all(documents)
            if inputs.is_given(documents):
                return documents, analyzer_of("words"), 1
            documents = inputs.to_list(inputs.strings(documents))
        elif isinstance(documents, pa.Array | pa.ChunkedArray):
            documents = documents.to_pylist()
        if self.analyzer is not None and self.prepare is not None:
            return list(_each(self.prepare, documents)), self.analyzer, self.shortest
        return Batches(self._batches(documents)), analyzer_of("words"), 1

    def _batches(self, documents: Iterable[Any]) -> Iterator[list[list[str]]]:
        """The features of documents, some 100 MB of them at once."""
        batch: list[list[str]] = []
        n_features = 0
        for features in _each(Chain((self.analyze, _check_features)), documents):
            batch.append(features)
            n_features += len(batch[-1])
            if n_features >= FEATURES_AT_ONCE:
                yield batch
                batch, n_features = [], 0
        yield batch


def _each(step: Step, documents: Iterable[Any]) -> Iterator[Any]:
    """The results of a step for each document; an error names the document."""
    for row, document in enumerate(documents):
        try:
            made = step(document)
        except Exception as error:
            error.add_note(f"This is document {row}, counted from 0.")
            raise
        yield made


def _check_features(features: Iterable[Any]) -> list[str]:
    """Features in a list; an error where one is no string, or has a lone surrogate, which no encoding can hold."""
    listed = features if isinstance(features, list) else list(features)
    "".join(listed).encode()
    return listed


def by_function(decode: Decode, function: Step, stop: frozenset[str], orders: tuple[int, int]) -> Reading:
    """A function of the user's finds the tokens."""
    return Reading(decode, Chain((decode, function, LeaveOut(stop), make_ngrams("word", orders))), takes_any=True)


def by_characters(decode: Decode, preprocess: Step, name: str, orders: tuple[int, int]) -> Reading:
    """N-grams of characters."""
    analyze = Chain((decode, preprocess, make_ngrams(name, orders)))
    return Reading(decode, analyze, takes_any=not isinstance(preprocess, Preprocess))


def by_tokens(
    decode: Decode, preprocess: Step, tokenize: Step, stop: frozenset[str], orders: tuple[int, int]
) -> Reading:
    """N-grams of the tokens that a pattern, or a function of the user's, finds in a preprocessed text."""
    rest = LeaveOut(stop), make_ngrams("word", orders)
    pattern: Any = getattr(tokenize, "__self__", None)
    is_pattern = isinstance(pattern, re.Pattern) and tokenize == pattern.findall
    letters = _LETTERS.get(pattern) if is_pattern else None
    if letters is None or preprocess != Preprocess(lower=True, strip=None) or orders[1] > MAX_ORDER:
        takes_any = not (is_pattern and isinstance(preprocess, Preprocess))
        return Reading(decode, Chain((decode, preprocess, tokenize, *rest)), takes_any=takes_any)
    # No token has an upper-case letter or a space.  A stop word that has one leaves nothing out; a spec would fold it.
    lower = [word for word in stop if word == normal.lower(word).strip()]
    spec = AnalyzerSpec(name="words", words=orders[1], stop_words=lower)
    analyze = Chain((decode, Tokens(AnalyzerSpec(name="words"), letters), *rest))
    return Reading(decode, analyze, analyzer_of(spec) if letters == 1 else LongWords(spec), orders[0])


def by_spec(decode: Decode, preprocess: Step, spec: AnalyzerSpec, orders: tuple[int, int]) -> Reading:
    """An analyzer of this package, with texts preprocessed."""
    shortest, longest = orders[0], spec.words or 1
    if spec.name == "universal" and shortest > 1:
        begins = Option("ngram_range"), " of the analyzer 'universal'"
        raise OptionError(begins, value=shortest, expected="from 1 on")
    prepare = None if preprocess == Preprocess(lower=False, strip=None) else Chain((decode, preprocess))
    steps: tuple[Step, ...] = (Tokens(spec.replace(words=1)), make_ngrams("word", (shortest, longest)))
    if spec.name == "universal":
        steps = (Tokens(spec),)
    # Analyzers with a dictionary make n-grams from one word on; those from two words on come from plain functions.
    analyzer = analyzer_of(spec) if shortest == 1 or spec.name == "words" else None
    takes_any = not isinstance(preprocess, Preprocess)
    return Reading(decode, Chain((decode, preprocess, *steps)), analyzer, shortest, prepare, takes_any)


# Options


def spec_of(analyzer: str | AnalyzerSpec, longest: int = 1, stop: Iterable[str] = ()) -> AnalyzerSpec:
    """An analyzer of this package, with n-grams of up to `longest` words and without stop words."""
    if isinstance(analyzer, AnalyzerSpec):
        words = analyzer.words if longest == 1 else longest
        return analyzer.replace(words=words, stop_words=(*analyzer.stop_words, *stop))
    if not isinstance(analyzer, str):
        raise OptionError(option="analyzer", value=analyzer, expected="a name, an AnalyzerSpec or a function")
    return AnalyzerSpec(name=analyzer, words=longest, stop_words=tuple(stop))


def orders_of(ngram_range: Any) -> tuple[int, int]:
    """The fewest and the most parts of an n-gram."""
    match ngram_range:
        case (shortest, longest) if is_whole(shortest) and is_whole(longest) and shortest >= 1:
            if shortest <= longest:
                return int(shortest), int(longest)
            problem = f"Invalid value for ngram_range={ngram_range} lower boundary larger than the upper boundary. "
            raise OptionError(f"{problem}Give the smaller number first", option="ngram_range")
    raise OptionError(option="ngram_range", value=ngram_range, expected="a pair of numbers from 1 on")


def stop_words_of(stop_words: str | Path | Iterable[str] | None) -> frozenset[str] | None:
    """A list of stop words: scikit-learn's English one, a file, or words as they are."""
    if stop_words is None:
        return None
    if isinstance(stop_words, str) and stop_words == "english":
        return frozenset(ENGLISH_STOP_WORDS)
    if isinstance(stop_words, str) and not os.path.exists(stop_words):
        raise DataError(
            f"there is no list of stop words {stop_words!r}, and no such file",
            option="stop_words",
            hint="give 'english', which is built in, the path of a file, or a list of words",
        )
    return frozenset(read_stop_words(stop_words) if isinstance(stop_words, str | Path) else stop_words)


def tear(stop: frozenset[str], preprocess: Step, tokenize: Step) -> list[str]:
    """Tokens of stop words that are no stop words themselves; none where a function cannot read a stop word."""
    try:
        return sorted({token for word in stop for token in tokenize(preprocess(word))} - stop)
    except Exception:
        return []
