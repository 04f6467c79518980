"""The scikit-learn side: estimators and transformers for pipelines, on matrices and data frames.

Only this package imports scikit-learn and SciPy: `pip install 'bunrui[sklearn]'` installs them.  Formulas and trained
models stand below it and need neither: `models/`, `classcounts.py`, `sparse.py`.
"""

from __future__ import annotations

from bunrui.errors import MissingExtraError

try:
    import scipy.sparse  # noqa: F401
    import sklearn  # noqa: F401
except ImportError as error:
    what = "the estimators, to_sklearn and the baselines of compare need"
    raise MissingExtraError("sklearn", "scikit-learn", what) from error

from bunrui.estimators.aode import AODE
from bunrui.estimators.columns import CategoricalNB, ColumnsNB, GaussianNB
from bunrui.estimators.discrete import TWCNB, BernoulliNB, BinaryNB, ComplementNB, MixedNB, MultinomialNB
from bunrui.estimators.heads import NBAROW, NBSVM
from bunrui.estimators.multilabel import MultilabelNB
from bunrui.estimators.vectorizer import TextVectorizer

__all__ = [
    "AODE",
    "NBAROW",
    "NBSVM",
    "TWCNB",
    "BernoulliNB",
    "BinaryNB",
    "CategoricalNB",
    "ColumnsNB",
    "ComplementNB",
    "GaussianNB",
    "MixedNB",
    "MultilabelNB",
    "MultinomialNB",
    "TextVectorizer",
]
