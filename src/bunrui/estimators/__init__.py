"""The scikit-learn side: estimators and transformers for pipelines.  Only this package imports scikit-learn."""

from __future__ import annotations

from bunrui.estimators.bernoulli import BernoulliNB
from bunrui.estimators.categorical import CategoricalNB
from bunrui.estimators.complement import TWCNB, ComplementNB
from bunrui.estimators.gaussian import GaussianNB
from bunrui.estimators.multinomial import BinaryNB, MixedNB, MultinomialNB
from bunrui.estimators.vectorizer import TextVectorizer

__all__ = [
    "TWCNB",
    "BernoulliNB",
    "BinaryNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "MixedNB",
    "MultinomialNB",
    "TextVectorizer",
]
