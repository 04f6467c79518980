"""Models that are linear in counts, in place of scikit-learn's: multinomial, Bernoulli, complement.

`DiscreteNB` is their base class; each of them names its formula in `models/`, and how it reads a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.classcounts import ClassCounts, Encoded, Labels, SparseCounts, as_whole, count_cells
from bunrui.errors import DataError, Option, OptionError
from bunrui.estimators.base import CountingClassifier, SmoothingClassifier, canonical, presence_of
from bunrui.models.bernoulli import bernoulli, log_present
from bunrui.models.complement import complement
from bunrui.models.linear import DENSE_CELLS, Table, dense_table
from bunrui.models.multinomial import binary, mixed, multinomial
from bunrui.models.scorer import Scorer, Smoothing, normalised, smoothing_on
from bunrui.models.twcnb import KeptRows, Steps
from bunrui.models.view import CountView, MatrixView
from bunrui.sparse import Floats, Numbers, Sparse


class DiscreteNB(SmoothingClassifier):
    """Base of the models that are linear in counts; a subclass names its formula, and how it reads a row."""

    _formula: ClassVar[Callable[..., Scorer]]
    counts_presence: ClassVar[bool] = False
    reads_presence: ClassVar[bool] = False
    _takes: ClassVar[dict[str, bool]] = {"sparse": True, "positive_only": True}

    # Options of the formula; False where a subclass does not have them.
    class_norm: bool = False
    against_rest: bool = False

    # Rows

    def rows_to_count(self, X: Any) -> Any:
        """Rows as they are counted: int64 or float64."""
        X = canonical(X)
        if (X.data if sparse.issparse(X) else X).min(initial=0) < 0:
            raise DataError(f"Negative values in data passed to {type(self).__name__}: counts are 0 or more")
        return presence_of(X) if self.counts_presence else as_whole(X)

    def rows_to_predict(self, X: Any) -> Any:
        """Rows as they are predicted."""
        X = canonical(X)
        return presence_of(X) if self.reads_presence else X

    def _count(self, X: Any, labels: Encoded, weights: Numbers) -> ClassCounts:
        return count_cells(self.rows_to_count(X), labels, weights, self.counts_presence)

    # Scores

    def _counts(self, learned: ClassCounts) -> SparseCounts:
        """The counts that the formula reads."""
        counts: SparseCounts = learned.part
        return counts

    def _view(self, learned: ClassCounts) -> MatrixView:
        return MatrixView(learned.doc_count, self._counts(learned))

    def scorer_of(self, view: CountView, prior: Floats) -> Scorer:
        options = {name: True for name in ("class_norm", "against_rest") if getattr(self, name)}
        return type(self)._formula(view, self._smoothing(view.n_features), prior, **options)

    def _smoothing(self, n_features: int, warn: bool = False) -> Smoothing:
        names = getattr(self, "feature_names_in_", None)
        return smoothing_on(n_features, names, self.smoothing, self.alpha, self.force_alpha, warn)

    def check_parameters(self, learned: Any) -> None:
        self._smoothing(self.n_features_in_, warn=True)
        self.log_prior_of(learned)

    def _table(self) -> Table:
        """The weights, made once for the same counts and parameters."""
        learned = self._learned

        def make() -> Table:
            view = self._view(learned)
            return Table(view, self.scorer_of(view, self.log_prior_of(learned)))

        table: Table = learned.once("table", self.key(), make)
        return table

    def key(self) -> dict[str, Any]:
        """The parameters as values that can be compared, and that do not change with those of the user."""
        return {name: _frozen(value) for name, value in self.get_params(deep=False).items()}

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Scores: log P(class, row) up to a number that all classes share, (n_rows, n_classes).

        With `against_rest`, log P(class, row) / P(not class, row).
        """
        X = self._checked(X)
        return self._table().scores(self.rows_to_predict(X))

    def predict(self, X: Any) -> Labels:
        """The most likely label of every row, (n_rows,); ties go to the label that sorts first."""
        X = self._checked(X)
        return np.asarray(self.classes_[self._table().best(self.rows_to_predict(X))])

    @property
    def feature_count_(self) -> Any:
        """The counts, (n_classes, n_features); a sparse array where a dense one would be large."""
        cells = self._counts(self._known("feature_count_")).cells
        if cells.shape[0] * cells.shape[1] <= DENSE_CELLS:
            return cells.toarray().T.astype(np.float64)
        places = (cells.data.astype(np.float64), cells.indices, cells.indptr)
        return sparse.csc_array(places, shape=cells.shape[::-1]).tocsr()

    @property
    def feature_log_prob_(self) -> Floats:
        """log P(feature | class), (n_classes, n_features); with `against_rest` too, whose scores have more."""
        learned = self._known("feature_log_prob_")
        if not self.against_rest:
            return self._table().weights.T
        view, options = self._view(learned), {"class_norm": True} if self.class_norm else {}
        own = type(self)._formula(view, self._smoothing(view.n_features), self.log_prior_of(learned), **options)
        return dense_table(view, own).T


def _frozen(value: Any) -> Any:
    if isinstance(value, list) or hasattr(value, "__array__"):
        array = np.asarray(value)
        return array.shape, array.tobytes()
    return dict(value) if isinstance(value, Mapping) else value


@dataclass(kw_only=True, eq=False, repr=False)
class WordsNB(DiscreteNB):
    """Base of the multinomial models: their parameters."""

    prior: Any = "empirical"
    class_norm: bool = False
    against_rest: bool = False


class MultinomialNB(WordsNB):
    """Multinomial naive Bayes on a matrix of counts, in place of scikit-learn's.

    In addition: new classes at any time, `merge` and `unlearn`, other estimators of P(feature | class), and memory that
    follows the cells that are not zero.

    Parameters
    ----------
    alpha : float, (n_features,) array or mapping from column name to float, optional
        λ of `smoothing="eap"`, by default 1; α of `"map"`, by default 1.0001.  0 is no smoothing, as `"mle"`.
    force_alpha : bool
        As in scikit-learn: False raises an alpha below 1e-10 to that.
    fit_prior : bool
        False is `prior="uniform"`.
    class_prior : (n_classes,) array, optional
        P(class) in the order of `classes_`; goes before `fit_prior` and `prior`.
    smoothing : {"eap", "map", "mle"}
        The estimator of P(feature | class): (n + λ) / (N + λV), (n + α - 1) / (N + (α - 1)V), or n / N.
    prior : {"empirical", "uniform", "smoothed"}, ("smoothed", λ) or mapping from label to probability
        P(class): D_c / D, 1 / C, (D_c + 1) / (D + C), or as given.
    class_norm : bool
        Divide the counts of every class by their sum before smoothing, so that alpha weighs the same in small classes
        as in large ones (Frank and Bouckaert 2006).  Alpha is then added to shares, where 1 is huge: 1e-5 to 1e-8 are
        good for texts.
    against_rest : bool
        Score a class against all other rows: log P(class, row) / P(not class, row).  Probabilities then are shares of
        exp(score).  Together with `class_norm` the rest is divided by its sum, too, and memory follows
        features × classes.

    Attributes
    ----------
    classes_ : (n_classes,)
        Labels, sorted.
    class_count_ : (n_classes,)
        Rows by class, or the sum of their weights.
    feature_count_ : (n_classes, n_features)
        The counts.
    class_log_prior_ : (n_classes,)
        log P(class); with `against_rest` scores have its log-odds.
    feature_log_prob_ : (n_classes, n_features)
        log P(feature | class), of the counts after `class_norm`; with `against_rest` scores have it less
        log P(feature | not class).
    n_features_in_ : int
        V.
    feature_names_in_ : (n_features,)
        Where X has names.

    Notes
    -----
    Whole numbers (of any dtype, weights included) are counted as integers: `merge` gives the same bits in any order,
    and `unlearn` leaves the estimator that never saw the rows.  Fractions are counted in float64: `merge` is right
    to rounding, and `unlearn` refuses unless `exact=False`.

    Priors and smoothing are computed from the counts at each answer: `set_params(alpha=...)` needs no new `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> clf = MultinomialNB().fit([[2, 1, 0], [0, 1, 3]], ["tea", "ham"])
    >>> clf.predict([[1, 0, 0]]).tolist()
    ['tea']
    >>> clf.partial_fit([[0, 5, 0]], ["new"]).classes_.tolist()
    ['ham', 'new', 'tea']
    >>> clf.unlearn([[0, 5, 0]], ["new"]).classes_.tolist()
    ['ham', 'tea']
    >>> np.exp(clf.feature_log_prob_).round(3).tolist()
    [[0.143, 0.286, 0.571], [0.5, 0.333, 0.167]]
    """

    _formula = staticmethod(multinomial)


class BinaryNB(WordsNB):
    """Multinomial naive Bayes on presence: a value above 0 counts as 1, in training and in prediction.

    Parameters and attributes are those of `MultinomialNB`; `feature_count_` has the rows of a class with a feature.

    Examples
    --------
    >>> clf = BinaryNB().fit([[7, 1, 0], [0, 1, 3]], ["tea", "ham"])
    >>> clf.feature_count_.tolist()
    [[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]
    """

    _formula = staticmethod(binary)
    counts_presence = True
    reads_presence = True


class MixedNB(WordsNB):
    """Multinomial naive Bayes that trains on counts and reads presence in prediction.

    A repeated word counts once in a row, fully in the corpus.  Parameters and attributes are those of `MultinomialNB`.

    Examples
    --------
    >>> clf = MixedNB().fit([[7, 1, 0], [0, 1, 3]], ["tea", "ham"])
    >>> clf.predict_proba([[9, 2, 0]]).tolist() == clf.predict_proba([[1, 1, 0]]).tolist()
    True
    """

    _formula = staticmethod(mixed)
    reads_presence = True


@dataclass(kw_only=True, eq=False, repr=False)
class BernoulliNB(DiscreteNB):
    """Bernoulli naive Bayes, in place of scikit-learn's: absent features count too.

    Parameters
    ----------
    alpha : float, optional
        λ of P(feature | class) = (d + λ) / (D + 2λ); one for all columns.
    force_alpha, fit_prior, class_prior, smoothing, prior
        As those of `MultinomialNB`.
    binarize : float, optional
        A feature is present if its value is above this.  None takes X as it is; all values must lie between 0 and 1.
    against_rest : bool
        As that of `MultinomialNB`: presence and absence are held against those in all rows that are not of the class.
        Memory follows features × classes.

    Attributes
    ----------
    classes_, class_count_, feature_count_, class_log_prior_, feature_log_prob_, n_features_in_, feature_names_in_
        As those of `MultinomialNB`; `feature_log_prob_` is log P(feature present | class), with `against_rest` too.

    Examples
    --------
    >>> clf = BernoulliNB().fit([[1, 1], [1, 0], [0, 1]], ["tea", "tea", "ham"])
    >>> clf.predict([[1, 0], [0, 1]]).tolist()
    ['tea', 'ham']
    """

    _formula = staticmethod(bernoulli)
    counts_presence = True
    _counting = ("binarize",)
    _takes: ClassVar[dict[str, bool]] = CountingClassifier._takes

    binarize: float | None = 0.0
    prior: Any = "empirical"
    against_rest: bool = False

    def rows_to_count(self, X: Any) -> Any:
        X = canonical(X)
        if self.binarize is not None:
            if not isinstance(self.binarize, (int, float, np.number)) or not 0 <= self.binarize < np.inf:
                raise OptionError(option="binarize", value=self.binarize, expected="a number, 0 or more, or None")
            return presence_of(X, float(self.binarize))
        values = X.data if sparse.issparse(X) else X
        if values.min(initial=0) < 0 or values.max(initial=1) > 1:
            none, zero = Option("binarize", None), Option("binarize", 0)
            raise DataError(("with ", none, " values lie between 0 and 1: give a threshold, as ", zero))
        return as_whole(X)

    def rows_to_predict(self, X: Any) -> Any:
        return self.rows_to_count(X)

    def check_parameters(self, learned: Any) -> None:
        super().check_parameters(learned)
        if not self._smoothing(self.n_features_in_).is_single:
            raise OptionError(option="alpha", value=self.alpha, expected="one number for all columns")

    @property
    def feature_log_prob_(self) -> npt.NDArray[np.float64]:
        """log P(feature present | class), (n_classes, n_features)."""
        learned = self._known("feature_log_prob_")
        cells = learned.part.cells
        if cells.shape[0] * cells.shape[1] > DENSE_CELLS:
            raise OptionError("features × classes are too many for a dense table: predict without it")
        return log_present(cells.toarray(), learned.doc_count, self._smoothing(self.n_features_in_)).T


@dataclass(kw_only=True, eq=False, repr=False)
class ComplementNB(DiscreteNB):
    """Complement naive Bayes, in place of scikit-learn's: a class is scored by the counts of all the others.

    Parameters
    ----------
    alpha, force_alpha, smoothing
        As those of `MultinomialNB`.
    fit_prior, class_prior
        Not used for scores, as in scikit-learn: they have no class prior.
    norm : bool
        Weight normalisation: divide the weights of a class by the sum of their absolute values.
    complement : bool
        Whether to count outside the class.  False scores by the class itself, still without a prior.
    log_tf, idf, length_norm : bool
        Whether rows become log(1 + count), times log(D / D[f]), divided by their length, before they are counted.
    transform_queries : bool
        Whether these three are done to rows to predict as well; the article does not.

    Attributes
    ----------
    classes_, class_count_, feature_count_, class_log_prior_, n_features_in_, feature_names_in_
        As those of `MultinomialNB`; `feature_count_` is of the rows after their steps.
    feature_all_ : (n_features,)
        `feature_count_` of all classes together.
    feature_log_prob_ : (n_classes, n_features)
        One occurrence adds this to a score, as in scikit-learn: the weights with their sign turned.
    weights_ : (n_classes, n_features)
        The weights of the article; with the complement, the class with the smallest sum wins.

    Notes
    -----
    With `log_tf`, `idf` or `length_norm` the estimator keeps its rows (sparse), because each new row changes the weight
    of the old ones.  So learning, merging and unlearning stay exact, also for fractions (for fractional weights, to
    rounding).  The price is memory, and a pass over all rows at the first prediction after a change.  To switch one of
    the three on or off, call `fit` again.

    A row without a word left (its length is 0 after IDF) adds nothing.  If all weights of a class are 0 (there is only
    one column), they are not divided.

    References
    ----------
    Rennie, Shih, Teevan, Karger (2003), "Tackling the poor assumptions of naive Bayes text classifiers".

    Examples
    --------
    >>> clf = ComplementNB(norm=True).fit([[2, 2, 0], [1, 0, 4]], ["tea", "ham"])
    >>> clf.predict([[1, 2, 0], [0, 0, 1]]).tolist()
    ['tea', 'ham']
    """

    _counting = ("log_tf", "idf", "length_norm")

    norm: bool = False
    complement: bool = True
    log_tf: bool = False
    idf: bool = False
    length_norm: bool = False
    transform_queries: bool = False

    @property
    def steps(self) -> Steps:
        return Steps(bool(self.log_tf), bool(self.idf), bool(self.length_norm))

    def _count(self, X: Any, labels: Encoded, weights: Numbers) -> ClassCounts:
        if not any(self.steps):
            return super()._count(X, labels, weights)
        X = self.rows_to_count(X)
        rows = Sparse.of(X).without_zeros()
        rows = rows.with_data(rows.data.astype(np.float64))
        part = KeptRows(((rows, labels[1], weights.astype(np.float64)),), len(labels[0]))
        return ClassCounts.of(labels, weights, part)

    def _counts(self, learned: ClassCounts) -> SparseCounts:
        if not isinstance(learned.part, KeptRows):
            return super()._counts(learned)
        counts: SparseCounts = learned.once("steps", self.steps, lambda: learned.part.counts(self.steps))
        return counts

    @property
    def feature_all_(self) -> Floats:
        """The counts of all classes together, (n_features,)."""
        return np.asarray(self._counts(self._known("feature_all_")).cells.row_sums(), np.float64)

    def scorer_of(self, view: CountView, prior: Floats) -> Scorer:
        formula = complement if self.complement else multinomial
        scorer = formula(view, self._smoothing(view.n_features), np.zeros_like(prior))
        return normalised(view, scorer) if self.norm else scorer

    def rows_to_predict(self, X: Any) -> Any:
        X = super().rows_to_predict(X)
        if not self.transform_queries or not any(self.steps):
            return X
        rows: KeptRows = self._learned.part
        return self.steps.of_rows(Sparse.of(X), rows.idf if self.idf else None)

    @property
    def weights_(self) -> Floats:
        """The weights of the article, (n_classes, n_features)."""
        return -self.feature_log_prob_ if self.complement else self.feature_log_prob_


class TWCNB(ComplementNB):
    """Transformed weight-normalised complement naive Bayes: all five steps of Rennie et al. (2003), table 4.

    Parameters
    ----------
    alpha, force_alpha, smoothing
        As those of `MultinomialNB`.
    transform_queries : bool
        Apply log TF, IDF and length norm to predicted rows, too; the article takes their raw counts.

    Attributes
    ----------
    classes_, class_count_, feature_count_, feature_log_prob_, weights_, n_features_in_, feature_names_in_
        As those of `ComplementNB`.

    Notes
    -----
    The rows are kept, so that learning, merging and unlearning are exact; see `ComplementNB`.

    Examples
    --------
    >>> clf = TWCNB().fit([[2, 2, 0], [1, 0, 4]], [1, 2])
    >>> clf.weights_.round(12).tolist()
    [[-0.4, -0.4, -0.2], [-0.4, -0.2, -0.4]]
    >>> clf.predict([[1, 2, 0]]).tolist()
    [1]
    """

    complement = norm = log_tf = idf = length_norm = True

    def __init__(
        self, *, alpha: Any = None, force_alpha: bool = True, smoothing: str = "eap", transform_queries: bool = False
    ) -> None:
        self.alpha, self.force_alpha, self.smoothing = alpha, force_alpha, smoothing
        self.transform_queries = transform_queries
