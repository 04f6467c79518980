r"""`TextVectorizer`: texts → a sparse matrix of counts, in place of scikit-learn's `CountVectorizer`.

The matrix is that of `CountVectorizer`, cell by cell and column by column, on every text that can be encoded: with the
analyzers `word`, `char` and `char_wb`, or a pattern or function; `words` is `CountVectorizer(token_pattern=r"\w+")`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import check_array
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bunrui.analysis import AnalyzerSpec
from bunrui.analysis.spec import read_stop_words
from bunrui.engines.matrix import Counted, Features, count_features, hash_features, look_up
from bunrui.errors import DataError, Option, OptionError, check_whole, is_whole
from bunrui.estimators import tokenize
from bunrui.estimators.base import canonical
from bunrui.estimators.tokenize import Preprocess, Reading
from bunrui.kernel import normal
from bunrui.sparse import Sparse

MAX_COLUMNS = 2**31 - 1


def _has_names(vectorizer: TextVectorizer) -> bool:
    if vectorizer.n_features is not None:
        raise AttributeError("with n_features, features are hashed and their names are not kept")
    return True


# scikit-learn's data frames cannot hold a sparse matrix: no `set_output`, as for CountVectorizer.
@dataclass(kw_only=True, eq=False, repr=False)
class TextVectorizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    r"""Turn texts into a sparse matrix of counts, (n_docs, n_features).

    A drop-in for `CountVectorizer`: all its parameters have the same meaning, and there are the analyzers of this
    package.  The default differs in one thing: words of one letter are features, as with
    `CountVectorizer(token_pattern=r"\w+")`.

    Parameters
    ----------
    analyzer : str, AnalyzerSpec or function
        How text becomes features.  Of this package: `words`, `universal` (any script, no dictionary), `ja`, `zh`, `ko`,
        or a spec with options.  Of scikit-learn: `word` (words of two letters and more), `char` and `char_wb` (n-grams
        of characters; the second inside words).  Or a function from text to tokens.
    ngram_range : pair of int
        The fewest and the most words, or characters, of a feature.  With a spec, `(1, 1)` leaves its `words` as they
        are and any other range takes their place.  `universal` has no fewest but 1.
    stop_words : "english", iterable of str, or path, optional
        Words to leave out before n-grams are made: scikit-learn's English list, a list, or a file with one a line.
        Those of a spec are left out as well.  Not for `char` and `char_wb`.
    token_pattern : str, optional
        For `words` and `word`: a regular expression that matches the tokens, or has one group that does.
    tokenizer : function, optional
        For `words` and `word`: from a preprocessed text to its tokens, in place of a pattern.
    preprocessor : function, optional
        From any document to a text: in place of `lowercase` and `strip_accents`.
    strip_accents : "ascii", "unicode" or function, optional
        Take accents away before tokens are made.
    lowercase : bool
        For `words`, `word`, `char` and `char_wb`: whether text is in lower case first.  Other analyzers fold case
        themselves.
    input : {"content", "filename", "file"}
        Whether documents are texts or bytes, names of files, or open files.
    encoding, decode_error : str
        How bytes and files are read; see `bytes.decode`.
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
        Hash the features into this number of columns and keep no vocabulary; see the notes.

    Attributes
    ----------
    vocabulary_ : dict from str to int
        The column of every feature; for reading (changes do not reach `transform`).
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.

    Notes
    -----
    A document may also be a list of tokens or a mapping from feature to count.  Its features are given then: neither
    the analyzer nor `ngram_range` nor `stop_words` see it.  Only a function of your own sees every document: an
    `analyzer`, a `preprocessor` or a `tokenizer`.

    Kernels read texts for the analyzers of this package and for `word`.  Functions, other patterns and characters take
    Python's time, as in scikit-learn.  A subclass may override `build_analyzer`, `build_preprocessor` and
    `build_tokenizer`.

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

    # Documents are no metadata to route, under any name of their argument.
    __metadata_request__fit = {"raw_documents": UNUSED}  # noqa: RUF012
    __metadata_request__partial_fit = {"raw_documents": UNUSED}  # noqa: RUF012
    __metadata_request__transform = {"raw_documents": UNUSED}  # noqa: RUF012

    analyzer: str | AnalyzerSpec | Callable[[str], Iterable[Any]] = "words"
    ngram_range: tuple[int, int] = (1, 1)
    stop_words: str | Path | Iterable[str] | None = None
    token_pattern: str | None = None
    tokenizer: Callable[[Any], Iterable[str]] | None = None
    preprocessor: Callable[[Any], Any] | None = None
    strip_accents: str | Callable[[str], str] | None = None
    lowercase: bool = True
    input: str = "content"
    encoding: str = "utf-8"
    decode_error: str = "strict"
    binary: bool = False
    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = None
    vocabulary: Mapping[str, int] | Iterable[str] | None = None
    dtype: npt.DTypeLike = np.int64
    n_features: int | None = None

    # Learning the columns

    def fit(self, raw_documents: Any, y: Any = None) -> TextVectorizer:
        """Learn the vocabulary; columns are sorted by feature, in the order of code points."""
        read = self._checked(fits=True).read
        if self.n_features is None and not self._take_given(fits=True):
            self._select(count_features(*read(raw_documents)))
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary and count, in one pass over the documents."""
        read = self._checked(fits=True).read
        if self.n_features is not None or self._take_given(fits=True):
            return self.transform(raw_documents)
        counted = count_features(*read(raw_documents))
        columns = self._select(counted)
        return self._finished(counted.matrix(columns, len(self._features)))

    def partial_fit(self, raw_documents: Any, y: Any = None) -> TextVectorizer:
        """Learn more features: known ones keep their columns, new ones are appended, sorted among themselves.

        So the columns depend on the order of the calls; those of `fit` are sorted.  No feature can go once it has
        a column: `min_df`, `max_df` and `max_features` must be left at their defaults.

        Examples
        --------
        >>> vectorizer = TextVectorizer().partial_fit(["new york"]).partial_fit(["big york apple"])
        >>> vectorizer.vocabulary_
        {'new': 0, 'york': 1, 'apple': 2, 'big': 3}
        """
        read = self._checked(fits=True).read
        if self.n_features is not None or self._take_given(fits=True):
            return self
        if self._selects():
            raise OptionError("partial_fit keeps every column: leave min_df, max_df and max_features out, or call fit")
        counted = count_features(*read(raw_documents))
        if not self.__sklearn_is_fitted__():
            self._features = Features.of_words([])
        self._features.append(counted.vocabulary)
        return self

    # Counting

    def transform(self, raw_documents: Any) -> Any:
        """Count the features of the vocabulary; all others are left out."""
        read = self._checked().read
        if self.n_features is not None:
            return self._finished(hash_features(*read(raw_documents), int(self.n_features)))
        if not self.__sklearn_is_fitted__():
            self._take_given()
        features = self._fitted()
        return self._finished(look_up(*read(raw_documents), features.table))

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

    @property
    def fixed_vocabulary_(self) -> bool:
        """Whether the vocabulary was given."""
        return self.vocabulary is not None

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

    # The steps from a document to its features

    def build_analyzer(self) -> Callable[[Any], list[str]]:
        """A function from a document to its features, as often as they occur.

        Examples
        --------
        >>> TextVectorizer(ngram_range=(1, 2)).build_analyzer()("New York!")
        ['new', 'york', 'new york']
        """
        return tokenize.reading_of(self).analyze

    def build_preprocessor(self) -> Any:
        """A function from a document to the text in which tokens are found."""
        if self.preprocessor is not None:
            return self.preprocessor
        folds = isinstance(self.analyzer, str) and self.analyzer in (*tokenize.PATTERNS, *tokenize.CHARACTERS)
        return Preprocess(bool(self.lowercase) and folds, tokenize.accents_of(self.strip_accents))

    def build_tokenizer(self) -> Any:
        """A function from a text to its tokens, for the analyzers `words` and `word`."""
        if self.tokenizer is not None:
            return self.tokenizer
        return tokenize.find_by(self.token_pattern or tokenize.PATTERNS["word" if self.analyzer == "word" else "words"])

    def get_stop_words(self) -> frozenset[str] | None:
        """The stop words, None where there are none; for `words`, in lower case as its tokens are."""
        stop = tokenize.stop_words_of(self.stop_words)
        if stop is None or not (self.analyzer == "words" and self.lowercase):
            return stop
        return frozenset(read_stop_words(stop, normal.lower))

    def decode(self, doc: Any) -> Any:
        """The text of a document: of a file, of bytes, or the document itself, which may be anything."""
        if self.input == "filename":
            doc = Path(doc).read_bytes()
        elif self.input == "file":
            doc = doc.read()
        return doc.decode(self.encoding, self.decode_error) if isinstance(doc, bytes) else doc

    # Options

    def _checked(self, *, fits: bool = False) -> Reading:
        """Check the options; how documents are read."""
        _check_limit("min_df", self.min_df)
        _check_limit("max_df", self.max_df)
        check_whole("max_features", self.max_features, most=MAX_COLUMNS, or_none=True)
        check_whole("n_features", self.n_features, most=MAX_COLUMNS, or_none=True)
        if self.n_features is not None and (self.vocabulary is not None or self._selects()):
            raise OptionError("n_features keeps no vocabulary: leave vocabulary, min_df, max_df and max_features out")
        reading = tokenize.reading_of(self)
        if type(self).build_analyzer is not TextVectorizer.build_analyzer:
            reading = Reading(reading.decode, reading.is_content, self.build_analyzer(), takes_any=True)
        if fits:
            self._warn()
        return reading

    def _warn(self) -> None:
        """Warn of options that have no effect, in the words of scikit-learn."""
        is_word = isinstance(self.analyzer, str) and self.analyzer in tokenize.PATTERNS
        for name, is_unused, why in (
            ("token_pattern", self.tokenizer is not None, "'tokenizer' is not None"),
            ("preprocessor", callable(self.analyzer), "'analyzer' is callable"),
            ("stop_words", self.analyzer in tokenize.CHARACTERS, "'analyzer' != 'word'"),
            ("token_pattern", not is_word, "'analyzer' != 'word'"),
            ("tokenizer", not is_word, "'analyzer' != 'word'"),
        ):
            if is_unused and getattr(self, name) is not None:
                warnings.warn(f"The parameter '{name}' will not be used since {why}", stacklevel=4)
        stop = self.get_stop_words()
        if is_word and stop:
            # To build it warns of stop words that are torn into tokens which are no stop words.
            steps = {"preprocessor": self.build_preprocessor(), "tokenizer": self.build_tokenizer()}
            CountVectorizer(stop_words=list(stop), token_pattern=None, **steps).build_analyzer()

    def _selects(self) -> bool:
        """Whether some features may be left out of the vocabulary."""
        rare = self.min_df > (1 if is_whole(self.min_df) else 0)
        frequent = is_whole(self.max_df) or self.max_df < 1
        return rare or frequent or self.max_features is not None

    def _take_given(self, *, fits: bool = False) -> bool:
        """Take over the vocabulary that was given, if any."""
        if self.vocabulary is None:
            return False
        words = _given_words(self.vocabulary)
        preprocess = self.build_preprocessor()
        is_lower = isinstance(preprocess, Preprocess) and preprocess.lower
        if fits and is_lower and any(word != word.lower() for word in words):
            text = (
                "Upper case characters found in vocabulary while 'lowercase' is True. These entries will not be matched"
            )
            warnings.warn(f"{text} with any documents", stacklevel=3)
        self._features = Features.of_words(words)
        return True

    def _select(self, counted: Counted) -> npt.NDArray[np.int32]:
        """Choose and sort the columns; the column of every feature that was counted, or -1."""
        order = counted.sorted_ids()
        if not len(order):
            raise DataError("empty vocabulary; perhaps the documents only contain stop words")
        if self._selects():
            order = order[self._mask(counted, order)]
            if not len(order):
                raise DataError("after pruning, no features remain: try a lower min_df or a higher max_df")
        self._features = Features.of_vocabulary(counted.vocabulary, order)
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


# Options


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
        columns = set(vocabulary.values())
        if len(columns) < len(vocabulary):
            hint = "give each feature a column of its own"
            raise OptionError("Vocabulary contains repeated indices", option="vocabulary", hint=hint)
        gap = next((column for column in range(len(columns)) if column not in columns), None)
        if gap is not None:
            problem = f"Vocabulary of size {len(columns)} doesn't contain index {gap}"
            hint = f"give the columns 0 to {len(columns) - 1}, each of them once"
            raise OptionError(problem, option="vocabulary", hint=hint)
        words = sorted(vocabulary, key=vocabulary.__getitem__)
    else:
        words = sorted(vocabulary) if isinstance(vocabulary, set | frozenset) else list(vocabulary)
    if not words:
        hint = "give some features, or None to learn them"
        raise OptionError("empty vocabulary passed to fit", option="vocabulary", hint=hint)
    known: set[str] = set()
    for word in words:
        if not isinstance(word, str):
            raise OptionError((Option("vocabulary"), f" has {word!r}, which is not a string: leave it out"))
        if word in known:
            raise OptionError((Option("vocabulary"), f" has {word!r} twice: keep one"))
        known.add(word)
    return words
