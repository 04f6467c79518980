"""The scikit-learn side: estimators and transformers for pipelines.  Only this package imports scikit-learn."""

from __future__ import annotations

from bunrui.estimators.aode import AODE
from bunrui.estimators.arow import NBAROW
from bunrui.estimators.bernoulli import BernoulliNB
from bunrui.estimators.categorical import CategoricalNB
from bunrui.estimators.columns import ColumnsNB
from bunrui.estimators.complement import TWCNB, ComplementNB
from bunrui.estimators.gaussian import GaussianNB
from bunrui.estimators.multilabel import MultilabelNB
from bunrui.estimators.multinomial import BinaryNB, MixedNB, MultinomialNB
from bunrui.estimators.nbsvm import NBSVM
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
