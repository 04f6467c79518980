"""The options of the vectorizer, checked: how to read documents, which features to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from bunrui.analysis import Analyzer, AnalyzerSpec, analyzer_of
from bunrui.analysis.analyzer import FunctionAnalyzer
from bunrui.analysis.spec import read_stop_words
from bunrui.analysis.texts import Token
from bunrui.errors import OptionError
from bunrui.kernel.ngrams import MAX_ORDER

__all__ = ["Reading", "check_limit", "check_size", "given_words", "is_whole", "reading"]


class Reading(NamedTuple):
    """An analyzer, and the fewest words of an n-gram where the kernels are to see to that."""

    analyzer: Analyzer
    shortest: int = 1

    def features(self, text: str) -> list[str]:
        """The features of a text."""
        # Words have no spaces inside, so that the spaces of an n-gram tell its length.
        found = [token.text for token in self.analyzer.features(text)]
        return [feature for feature in found if self.shortest == 1 or feature.count(" ") >= self.shortest - 1]


def reading(
    analyzer: str | AnalyzerSpec | Callable[[str], Iterable[Any]],
    ngram_range: tuple[int, int],
    stop_words: str | Path | Iterable[str] | None,
) -> Reading:
    """How to read documents.

    Examples
    --------
    >>> reading("words", (2, 3), ["the"]).features("under the milky way")
    ['under milky', 'milky way', 'under milky way']
    >>> reading(str.split, (2, 2), None).features("New York City")
    ['New York', 'York City']
    """
    shortest, longest = _orders(ngram_range)
    stop = _stop_words(stop_words)
    if isinstance(analyzer, str):
        spec = AnalyzerSpec(name=analyzer, words=longest, stop_words=stop)
    elif isinstance(analyzer, AnalyzerSpec):
        words = analyzer.words if longest == 1 else longest
        spec = analyzer.replace(words=words, stop_words=_stop_words(analyzer.stop_words) + stop)
    elif callable(analyzer):
        plain = FunctionAnalyzer(analyzer, name="function", fingerprint="", stop=stop)
        return Reading(plain if longest == 1 else _with_ngrams(plain, shortest, longest))
    else:
        raise OptionError(f"analyzer should be a name, an AnalyzerSpec or a function, not {analyzer!r}")
    if shortest == 1 or spec.name == "words":
        return Reading(analyzer_of(spec), shortest)
    if spec.name == "universal":
        raise OptionError(f"ngram_range should begin with 1 for the analyzer 'universal', not with {shortest}")
    return Reading(_with_ngrams(analyzer_of(spec.replace(words=1)), shortest, longest))


def _orders(ngram_range: Any) -> tuple[int, int]:
    match ngram_range:
        case (shortest, longest) if is_whole(shortest) and is_whole(longest) and 1 <= shortest <= longest <= MAX_ORDER:
            return int(shortest), int(longest)
    raise OptionError(f"ngram_range should be a pair of numbers from 1 to {MAX_ORDER}, not {ngram_range!r}")


def _stop_words(stop_words: str | Path | Iterable[str] | None) -> tuple[str, ...]:
    if stop_words is None:
        return ()
    if isinstance(stop_words, str) and stop_words == "english":
        return tuple(sorted(ENGLISH_STOP_WORDS))
    return read_stop_words(stop_words) if isinstance(stop_words, str | Path) else tuple(stop_words)


def _with_ngrams(analyzer: Analyzer, shortest: int, longest: int) -> Analyzer:
    """N-grams of the tokens of an analyzer that works in Python."""

    def ngrams(text: str) -> Iterator[Token]:
        tokens = analyzer.features(text)
        for i in range(len(tokens)):
            for n in range(shortest, min(i + 1, longest) + 1):
                run = tokens[i - n + 1 : i + 1]
                yield Token(" ".join(token.text for token in run), run[0].start, run[-1].end)

    return FunctionAnalyzer(ngrams, name=f"{analyzer.describe()}, {shortest}–{longest}-grams", fingerprint="")


def is_whole(x: Any) -> bool:
    """Whether a value is a whole number."""
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def check_limit(name: str, limit: Any) -> None:
    """A number of documents: counted, or a share of all."""
    share = isinstance(limit, (float, np.floating)) and 0 <= limit <= 1
    if not (share or (is_whole(limit) and limit >= 1)):
        raise OptionError(f"{name} should be a number of documents from 1, or a share from 0.0 to 1.0, not {limit!r}")


def check_size(name: str, size: Any, most: int) -> None:
    """A number of features, or None."""
    if size is not None and not (is_whole(size) and 1 <= size <= most):
        raise OptionError(f"{name} should be a whole number from 1 to {most:,}, or None, not {size!r}")


def given_words(vocabulary: Mapping[str, int] | Iterable[str]) -> list[str]:
    """A given vocabulary by column.

    Examples
    --------
    >>> given_words({"b": 0, "a": 1})
    ['b', 'a']
    """
    if isinstance(vocabulary, str):
        raise OptionError("vocabulary should be a list of features or a mapping from feature to column, not one string")
    if isinstance(vocabulary, Mapping):
        if sorted(vocabulary.values()) != list(range(len(vocabulary))):
            raise OptionError(f"the columns of the vocabulary should be 0 to {len(vocabulary) - 1}, each of them once")
        words = sorted(vocabulary, key=vocabulary.__getitem__)
    else:
        words = sorted(vocabulary) if isinstance(vocabulary, set | frozenset) else list(vocabulary)
    if not words:
        raise OptionError("the vocabulary is empty: give some features, or None to learn them")
    known: set[str] = set()
    for word in words:
        if not isinstance(word, str):
            raise OptionError(f"the vocabulary has {word!r}, which is not a string")
        if word in known:
            raise OptionError(f"the vocabulary has {word!r} twice")
        known.add(word)
    return words
