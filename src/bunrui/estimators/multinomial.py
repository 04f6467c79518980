"""`MultinomialNB`, and its two readings of presence: `BinaryNB` and `MixedNB`."""

from __future__ import annotations

from bunrui.estimators.discrete import DiscreteNB
from bunrui.models.multinomial import binary, mixed, multinomial

__all__ = ["BinaryNB", "MixedNB", "MultinomialNB"]


class MultinomialNB(DiscreteNB):
    """Multinomial naive Bayes on a matrix of counts, in place of scikit-learn's.

    Beyond it: classes may come at any time, `merge` and `unlearn`, other estimators of P(feature | class), and memory
    that follows the cells that are not zero.

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
        Whether the counts of every class are divided by their sum before they are smoothed, so that alpha weighs the
        same in small classes as in large ones (Frank and Bouckaert 2006).  Beside shares an alpha of 1 is huge: 1e-5
        to 1e-8 are good for texts.
    against_rest : bool
        Whether a class is scored against all rows that are not of it, log P(class, row) / P(not class, row).
        Probabilities then are shares of exp(score).  Together with `class_norm` the rest is divided by its sum too, and
        memory follows features × classes.

    Attributes
    ----------
    classes_ : (n_classes,)
        Labels, sorted.
    class_count_ : (n_classes,)
        Rows by class, or the sum of their weights.
    feature_count_ : (n_classes, n_features)
        What was counted.
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
    and `unlearn` leaves the very estimator that never saw the rows.  Fractions are counted in float64: `merge` is right
    to rounding, and `unlearn` refuses unless `exact=False`.

    Priors and smoothing are computed from the counts when somebody asks: `set_params(alpha=...)` needs no new `fit`.

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


class BinaryNB(DiscreteNB):
    """Multinomial naive Bayes on presence: what is above 0 counts as 1, in training and in prediction.

    Parameters and attributes are those of `MultinomialNB`; `feature_count_` has the rows of a class with a feature.

    Examples
    --------
    >>> clf = BinaryNB().fit([[7, 1, 0], [0, 1, 3]], ["tea", "ham"])
    >>> clf.feature_count_.tolist()
    [[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]
    """

    _formula = staticmethod(binary)
    _counts_presence = True
    _reads_presence = True


class MixedNB(DiscreteNB):
    """Multinomial naive Bayes that trains on counts and reads presence in prediction.

    A repeated word counts once in a row, fully in the corpus.  Parameters and attributes are those of `MultinomialNB`.

    Examples
    --------
    >>> clf = MixedNB().fit([[7, 1, 0], [0, 1, 3]], ["tea", "ham"])
    >>> clf.predict_proba([[9, 2, 0]]).tolist() == clf.predict_proba([[1, 1, 0]]).tolist()
    True
    """

    _formula = staticmethod(mixed)
    _reads_presence = True
