r"""A document → its features, by the options of scikit-learn's `CountVectorizer`.

    decode ─► preprocess ─► tokenize ─► stop words ─► n-grams

`Reading.analyze` does all steps, as the function of a `CountVectorizer`.  `Reading.analyzer` has the kernels that find
the same features, where there are any: for the analyzers of this package, and for tokens by `\w+` or `\b\w\w+\b`.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
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


def check_input(input: str, encoding: str, decode_error: str) -> None:
    """Refuse options by which nothing can be decoded."""
    check_choice("input", input, ("content", "file", "filename"))
    check_choice("decode_error", decode_error, ("strict", "ignore", "replace"))
    try:
        codecs.lookup(encoding)
    except (LookupError, TypeError) as error:
        expected = "an encoding that Python knows, such as 'utf-8'"
        raise OptionError(option="encoding", value=encoding, expected=expected) from error


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
class Find:
    """A text → its tokens by a function, without stop words; a token may come with its place."""

    function: Step
    stop: frozenset[str]

    def __call__(self, text: Any) -> list[str]:
        texts = (token if isinstance(token, str) else _text_of(token) for token in self.function(text))
        return [text for text in texts if text not in self.stop]


def _text_of(token: Any) -> str:
    if isinstance(token, tuple) and len(token) == 3:
        return str(token[0])
    raise DataError(f"an analyzer should give strings or (text, start, end), not {token!r}")


def _same(document: Any) -> Any:
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
    decode : function
        From a file, the name of a file, or bytes to a text.
    is_content : bool
        Whether documents are texts or bytes, and not files.
    analyze : function
        From a document to its features, in plain Python.
    analyzer : Analyzer or None
        The kernels that find the same features in texts.
    shortest : int
        The fewest words of an n-gram, where the kernels make n-grams.
    preprocess : function or None
        From a decoded document to the text that the kernels read; None where they read it as it is.
    takes_any : bool
        Whether a document may be anything, because a function of the user's reads it first.
    """

    decode: Step
    is_content: bool
    analyze: Step
    analyzer: Analyzer | None = None
    shortest: int = 1
    preprocess: Step | None = None
    takes_any: bool = False

    def read(self, documents: Any) -> tuple[Any, Analyzer, int]:
        """The input of the engine: texts or given features, or batches of features; the analyzer, the fewest words."""
        if isinstance(documents, str):
            hint = "put it into a list"
            raise DataError("Iterable over raw text documents expected, string object received", hint=hint)
        if isinstance(documents, Iterator):
            documents = list(documents)
        if self.analyzer is not None and self.preprocess is None:
            return self._decoded(documents), self.analyzer, self.shortest
        if not self.takes_any and self.is_content:
            documents = self._decoded(documents)
            if inputs.is_given(documents):
                return documents, analyzer_of("words"), 1
            documents = inputs.to_list(inputs.strings(documents))
        elif isinstance(documents, pa.Array | pa.ChunkedArray):
            documents = documents.to_pylist()
        if self.analyzer is not None and self.preprocess is not None:
            texts = _each(self.preprocess, _each(self.decode, documents))
            return list(texts), self.analyzer, self.shortest
        return Batches(self._batches(documents)), analyzer_of("words"), 1

    def _decoded(self, documents: Any) -> Any:
        """Documents with files and bytes as text; the same object where there are none."""
        is_list = isinstance(documents, list | tuple | np.ndarray)
        if self.is_content and not (is_list and any(isinstance(document, bytes) for document in documents)):
            return documents
        return list(_each(self.decode, documents))

    def _batches(self, documents: Iterable[Any]) -> Iterator[list[list[str]]]:
        """The features of documents, some 100 MB of them at once."""
        batch: list[list[str]] = []
        n_features = 0
        for features in _each(_check_features, _each(self.analyze, documents)):
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


def reading_of(vectorizer: Any) -> Reading:
    """How documents are read, by the options of a vectorizer and by the functions that it builds."""
    v = vectorizer
    check_input(v.input, v.encoding, v.decode_error)
    name, orders, stop = v.analyzer, orders_of(v.ngram_range), v.get_stop_words() or frozenset()
    reading = partial(Reading, v.decode, v.input == "content")

    def steps(preprocess: Step, tokenize: Step | None, orders: tuple[int, int], unit: str = "word") -> Step:
        """scikit-learn's function from a document to its n-grams."""
        by = {"preprocessor": preprocess, "tokenizer": tokenize, "token_pattern": None}
        peer = CountVectorizer(analyzer=unit, ngram_range=orders, **by)
        peer.decode = v.decode  # its own refuses NaN, which a function of the user's may know
        analyze: Step = peer.build_analyzer()
        return analyze

    if callable(name):
        return reading(steps(_same, Find(name, stop), orders), takes_any=True)
    if isinstance(name, str):
        check_choice("analyzer", name, NAMES)
    preprocess = v.build_preprocessor()
    takes_any = not isinstance(preprocess, Preprocess)
    if name in CHARACTERS:
        return reading(steps(preprocess, None, orders, name), takes_any=takes_any)
    if name in PATTERNS:
        tokenize = v.build_tokenizer()
        pattern: Any = getattr(tokenize, "__self__", None)
        is_pattern = isinstance(pattern, re.Pattern) and tokenize == pattern.findall
        letters = _LETTERS.get(pattern) if is_pattern else None
        if letters is None or preprocess != Preprocess(lower=True, strip=None) or orders[1] > MAX_ORDER:
            return reading(steps(preprocess, Find(tokenize, stop), orders), takes_any=takes_any or not is_pattern)
        # No token has an upper-case letter or a space: a stop word with one leaves nothing out, and a spec folds it.
        lower = [word for word in stop if word == normal.lower(word).strip()]
        spec = AnalyzerSpec(name="words", words=orders[1], stop_words=lower)
        analyze = steps(_same, Find(Tokens(AnalyzerSpec(name="words"), letters), stop), orders)
        return reading(analyze, analyzer_of(spec) if letters == 1 else LongWords(spec), orders[0])
    if not v.lowercase:
        raise OptionError(
            (Option("lowercase", False), " is for the analyzers words, word, char and char_wb"),
            hint="leave it out, others fold case themselves",
        )
    spec, shortest = spec_of(name, orders[1], stop), orders[0]
    if spec.name == "universal" and shortest > 1:
        begins = Option("ngram_range"), " of the analyzer 'universal'"
        raise OptionError(begins, value=shortest, expected="from 1 on")
    if spec.name == "universal":
        analyze = steps(preprocess, Tokens(spec), (1, 1))
    else:
        analyze = steps(preprocess, Tokens(spec.replace(words=1)), (shortest, spec.words or 1))
    # Analyzers with a dictionary make n-grams from one word on; those from two words on come from plain functions.
    analyzer = analyzer_of(spec) if shortest == 1 or spec.name == "words" else None
    first = None if preprocess == Preprocess(lower=False, strip=None) else preprocess
    return reading(analyze, analyzer, shortest, first, takes_any)


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
