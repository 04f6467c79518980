r"""`TextVectorizer`: texts → a sparse matrix of counts, in place of scikit-learn's `CountVectorizer`.

With the analyzer `words` the matrix is that of `CountVectorizer(token_pattern=r"\w+")`, cell by cell and column by
column, on every text that can be encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.utils import check_array
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bunrui.analysis import Analyzer, AnalyzerSpec, analyzer_of
from bunrui.analysis.analyzer import FunctionAnalyzer
from bunrui.analysis.spec import read_stop_words
from bunrui.analysis.texts import Token
from bunrui.engines.matrix import Counted, Features, count_features, hash_features, look_up, sorted_ids
from bunrui.errors import DataError, Option, OptionError, check_whole, is_whole
from bunrui.estimators.base import canonical, keep_parameters
from bunrui.kernel.ngrams import MAX_ORDER
from bunrui.sparse import Sparse

MAX_COLUMNS = 2**31 - 1


def _has_names(vectorizer: TextVectorizer) -> bool:
    if vectorizer.n_features is not None:
        raise AttributeError("with n_features, features are hashed and their names are not kept")
    return True


# scikit-learn's data frames cannot hold a sparse matrix: no `set_output`, as for CountVectorizer.
class TextVectorizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    r"""Turn texts into a sparse matrix of counts, (n_docs, n_features).

    A drop-in for `CountVectorizer`, with the analyzers of this package.  Case folding belongs to the analyzer (`words`
    has lower case, `universal` NFKC and case folding), so there is no `lowercase`; words of one letter are features, as
    with `CountVectorizer(token_pattern=r"\w+")`.

    Parameters
    ----------
    analyzer : str, AnalyzerSpec or function
        How text becomes features: `words`, `universal` (any script, no dictionary), `ja`, `zh`, `ko`, a spec with
        options, or a function from text to tokens.
    ngram_range : pair of int
        The fewest and the most words of a feature.  With a spec, `(1, 1)` leaves its `words` as they are and any other
        range takes their place.  `universal` has no fewest but 1.
    stop_words : "english", iterable of str, or path, optional
        Words to leave out before n-grams are made: scikit-learn's English list, a list, or a file with one a line.
        Those of a spec are left out as well.
    binary : bool
        Whether a feature counts once in a document.
    min_df, max_df : int or float
        Leave out features of fewer, or of more, documents; a float is a share of all documents.
    max_features : int, optional
        Keep the features that occur most often in all documents.
    vocabulary : mapping from feature to column, or iterable of features, optional
        The features to count, and no others.
    dtype : dtype
        Of the counts.
    n_features : int, optional
        Hash the features into so many columns and keep no vocabulary; see the notes.

    Attributes
    ----------
    vocabulary_ : dict from str to int
        The column of every feature; for reading (changes do not reach `transform`).
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.

    Notes
    -----
    A document may also be a list of tokens or a mapping from feature to count.  Its features are given then: neither
    the analyzer nor `ngram_range` nor `stop_words` see it.

    With `n_features`, the column of a feature is the 64-bit hash of its UTF-8 bytes modulo `n_features`.  It is the
    same in every run and on every platform, nothing is learned, and features that meet in a column are added up (there
    is no alternating sign: naive Bayes reads counts).

    Examples
    --------
    >>> vectorizer = TextVectorizer()
    >>> X = vectorizer.fit_transform(["a rose is a rose", "Is it?"])
    >>> vectorizer.vocabulary_
    {'a': 0, 'is': 1, 'it': 2, 'rose': 3}
    >>> X.toarray()
    array([[2, 1, 0, 2],
           [0, 1, 1, 0]])
    >>> TextVectorizer(ngram_range=(2, 2)).fit(["a rose is a rose"]).get_feature_names_out().tolist()
    ['a rose', 'is a', 'rose is']
    >>> TextVectorizer(n_features=1024).transform(["a rose is a rose"]).sum()
    np.int64(5)
    """

    # The documents are no metadata to route, whatever their argument is called.
    __metadata_request__fit = {"raw_documents": UNUSED}  # noqa: RUF012
    __metadata_request__partial_fit = {"raw_documents": UNUSED}  # noqa: RUF012
    __metadata_request__transform = {"raw_documents": UNUSED}  # noqa: RUF012

    def __init__(
        self,
        *,
        analyzer: str | AnalyzerSpec | Callable[[str], Iterable[Any]] = "words",
        ngram_range: tuple[int, int] = (1, 1),
        stop_words: str | Path | Iterable[str] | None = None,
        binary: bool = False,
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        dtype: npt.DTypeLike = np.int64,
        n_features: int | None = None,
    ) -> None:
        keep_parameters(self, locals())

    # Learning the columns

    def fit(self, raw_documents: Any, y: Any = None) -> TextVectorizer:
        """Learn the vocabulary; columns are sorted by feature, in the order of code points."""
        reads = self._checked()
        if self.n_features is None and not self._take_given():
            self._select(count_features(raw_documents, reads.analyzer, reads.shortest))
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary and count, in one pass over the documents."""
        reads = self._checked()
        if self.n_features is not None or self._take_given():
            return self.transform(raw_documents)
        counted = count_features(raw_documents, reads.analyzer, reads.shortest)
        columns = self._select(counted)
        return self._finished(counted.matrix(columns, len(self._features)))

    def partial_fit(self, raw_documents: Any, y: Any = None) -> TextVectorizer:
        """Learn more features: known ones keep their columns, new ones are appended, sorted among themselves.

        So the columns depend on what came first, where those of `fit` are sorted in all.  No feature can go once it has
        a column: `min_df`, `max_df` and `max_features` must be left at their defaults.

        Examples
        --------
        >>> vectorizer = TextVectorizer().partial_fit(["new york"]).partial_fit(["big york apple"])
        >>> vectorizer.vocabulary_
        {'new': 0, 'york': 1, 'apple': 2, 'big': 3}
        """
        reads = self._checked()
        if self.n_features is not None or self._take_given():
            return self
        if self._selects():
            raise OptionError("partial_fit keeps every column: leave min_df, max_df and max_features out, or call fit")
        counted = count_features(raw_documents, reads.analyzer, reads.shortest)
        if not self.__sklearn_is_fitted__():
            self._features = Features.of_words([])
        self._features.append(counted.vocabulary)
        self.fixed_vocabulary_ = False
        return self

    # Counting

    def transform(self, raw_documents: Any) -> Any:
        """Count the features of the vocabulary; all others are left out."""
        reads = self._checked()
        if self.n_features is not None:
            return self._finished(hash_features(raw_documents, reads.analyzer, reads.shortest, int(self.n_features)))
        if not self.__sklearn_is_fitted__():
            self._take_given()
        features = self._fitted()
        return self._finished(look_up(raw_documents, reads.analyzer, reads.shortest, features.table))

    def _finished(self, rows: Sparse) -> Any:
        values = np.ones_like(rows.data) if self.binary else rows.data
        # Before 1.9 scikit-learn had no such setting, and matrices everywhere.
        is_old = get_config().get("sparse_interface", "spmatrix") == "spmatrix"
        make = sparse.csr_matrix if is_old else sparse.csr_array
        starts = rows.indptr.astype(np.int32) if rows.n_cells < 2**31 else rows.indptr
        matrix = make((values.astype(self.dtype, copy=False), rows.indices, starts), shape=rows.shape)
        matrix.has_canonical_format = True
        return matrix

    # Reading the columns

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of every feature."""
        _has_names(self)
        return self._fitted().columns

    @available_if(_has_names)
    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The features by column, (n_features,)."""
        if not self.__sklearn_is_fitted__():
            self._take_given()
        return np.array(self._fitted().names, dtype=object)

    @available_if(_has_names)
    def inverse_transform(self, X: Any) -> list[npt.NDArray[np.object_]]:
        """The features of every row that are not zero, in the order of their columns."""
        names = self.get_feature_names_out()
        matrix = canonical(sparse.csr_array(check_array(X, accept_sparse="csr")))
        if matrix.shape[1] != len(names):
            raise DataError(f"X should have a column for each of the {len(names)} features, not {matrix.shape[1]}")
        found = matrix.data != 0
        return [names[matrix.indices[a:b][found[a:b]]] for a, b in pairwise(matrix.indptr)]

    def build_analyzer(self) -> Callable[[str], list[str]]:
        """A function from a text to its features, as often as they occur.

        Examples
        --------
        >>> TextVectorizer(ngram_range=(1, 2)).build_analyzer()("New York!")
        ['new', 'york', 'new york']
        """
        return self._checked().features

    # Options

    def _checked(self) -> _Reading:
        """Check the options; how documents are read."""
        _check_limit("min_df", self.min_df)
        _check_limit("max_df", self.max_df)
        check_whole("max_features", self.max_features, most=MAX_COLUMNS, or_none=True)
        check_whole("n_features", self.n_features, most=MAX_COLUMNS, or_none=True)
        if self.n_features is not None and (self.vocabulary is not None or self._selects()):
            raise OptionError("n_features keeps no vocabulary: leave vocabulary, min_df, max_df and max_features out")
        return read_by(self.analyzer, self.ngram_range, self.stop_words)

    def _selects(self) -> bool:
        """Whether some features may be left out of the vocabulary."""
        rare = self.min_df > (1 if is_whole(self.min_df) else 0)
        frequent = is_whole(self.max_df) or self.max_df < 1
        return rare or frequent or self.max_features is not None

    def _take_given(self) -> bool:
        """Take over the vocabulary that was given, if any."""
        if self.vocabulary is None:
            return False
        self._features = Features.of_words(_given_words(self.vocabulary))
        self.fixed_vocabulary_ = True
        return True

    def _select(self, counted: Counted) -> npt.NDArray[np.int32]:
        """Choose and sort the columns; the column of every feature that was counted, or -1."""
        order = sorted_ids(counted.vocabulary)
        if not len(order):
            raise DataError("empty vocabulary; perhaps the documents only contain stop words")
        if self._selects():
            order = order[self._mask(counted, order)]
            if not len(order):
                raise DataError("after pruning, no features remain: try a lower min_df or a higher max_df")
        self._features = Features.of_vocabulary(counted.vocabulary, order)
        self.fixed_vocabulary_ = False
        columns = np.full(counted.n_features, -1, np.int32)
        columns[order] = np.arange(len(order))
        return columns

    def _mask(self, counted: Counted, order: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which of the sorted features to keep."""
        doc_freq, term_count = counted.totals()
        most, least = (n if is_whole(n) else n * counted.n_docs for n in (self.max_df, self.min_df))
        if most < least:
            least_df = Option("min_df", self.min_df)
            raise OptionError((Option("max_df", self.max_df), " leaves fewer documents than ", least_df, " asks for"))
        mask: npt.NDArray[np.bool_] = (doc_freq[order] <= most) & (doc_freq[order] >= least)
        if self.max_features is not None and mask.sum() > self.max_features:
            frequency = (doc_freq if self.binary else term_count)[order]
            # The very sort of scikit-learn, which is not stable: ties must fall as they do there.
            kept = np.flatnonzero(mask)[(-frequency[mask]).argsort()[: self.max_features]]
            mask = np.zeros(len(order), bool)
            mask[kept] = True
        return mask

    # As a scikit-learn estimator

    def _fitted(self) -> Features:
        check_is_fitted(self)
        return self._features

    def __sklearn_is_fitted__(self) -> bool:
        return self.n_features is not None or hasattr(self, "_features")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = self.n_features is None and self.vocabulary is None
        return tags


# The options, checked: how to read documents, which features to keep


class _Reading(NamedTuple):
    """An analyzer, and the fewest words of an n-gram where the kernels are to see to that."""

    analyzer: Analyzer
    shortest: int = 1

    def features(self, text: str) -> list[str]:
        """The features of a text."""
        # Words have no spaces inside, so that the spaces of an n-gram tell its length.
        found = [token.text for token in self.analyzer.features(text)]
        return [feature for feature in found if self.shortest == 1 or feature.count(" ") >= self.shortest - 1]


def read_by(
    analyzer: str | AnalyzerSpec | Callable[[str], Iterable[Any]],
    ngram_range: tuple[int, int] = (1, 1),
    stop_words: str | Path | Iterable[str] | None = None,
) -> _Reading:
    """How to read documents.

    Examples
    --------
    >>> read_by("words", (2, 3), ["the"]).features("under the milky way")
    ['under milky', 'milky way', 'under milky way']
    >>> read_by(str.split, (2, 2), None).features("New York City")
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
        return _Reading(plain if longest == 1 else _with_ngrams(plain, shortest, longest))
    else:
        raise OptionError(option="analyzer", value=analyzer, expected="a name, an AnalyzerSpec or a function")
    if shortest == 1 or spec.name == "words":
        return _Reading(analyzer_of(spec), shortest)
    if spec.name == "universal":
        begins = Option("ngram_range"), " of the analyzer 'universal'"
        raise OptionError(begins, value=shortest, expected="from 1 on")
    return _Reading(_with_ngrams(analyzer_of(spec.replace(words=1)), shortest, longest))


def _orders(ngram_range: Any) -> tuple[int, int]:
    match ngram_range:
        case (shortest, longest) if is_whole(shortest) and is_whole(longest) and 1 <= shortest <= longest <= MAX_ORDER:
            return int(shortest), int(longest)
    expected = f"a pair of numbers from 1 to {MAX_ORDER}"
    raise OptionError(option="ngram_range", value=ngram_range, expected=expected)


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


def _check_limit(name: str, limit: Any) -> None:
    """A number of documents: counted, or a share of all."""
    share = isinstance(limit, (float, np.floating)) and 0 <= limit <= 1
    if not (share or (is_whole(limit) and limit >= 1)):
        expected = "a number of documents from 1, or a share from 0.0 to 1.0"
        raise OptionError(option=name, value=limit, expected=expected)


def _given_words(vocabulary: Mapping[str, int] | Iterable[str]) -> list[str]:
    """A given vocabulary by column.

    Examples
    --------
    >>> _given_words({"b": 0, "a": 1})
    ['b', 'a']
    """
    if isinstance(vocabulary, str):
        expected = "a list of features or a mapping from feature to column"
        raise OptionError(option="vocabulary", value=vocabulary, expected=expected)
    if isinstance(vocabulary, Mapping):
        if sorted(vocabulary.values()) != list(range(len(vocabulary))):
            expected = f"a mapping to the columns 0 to {len(vocabulary) - 1}, each of them once"
            raise OptionError(option="vocabulary", expected=expected)
        words = sorted(vocabulary, key=vocabulary.__getitem__)
    else:
        words = sorted(vocabulary) if isinstance(vocabulary, set | frozenset) else list(vocabulary)
    if not words:
        raise OptionError((Option("vocabulary"), " is empty: give some features, or None to learn them"))
    known: set[str] = set()
    for word in words:
        if not isinstance(word, str):
            raise OptionError((Option("vocabulary"), f" has {word!r}, which is not a string: leave it out"))
        if word in known:
            raise OptionError((Option("vocabulary"), f" has {word!r} twice: keep one"))
        known.add(word)
    return words
