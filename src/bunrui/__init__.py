"""bunrui (分類): text classification by counting."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bunrui.analysis import AnalyzerSpec
    from bunrui.classifier import TextClassifier
    from bunrui.counts import Counts
    from bunrui.estimators import (
        AODE,
        NBAROW,
        NBSVM,
        TWCNB,
        BernoulliNB,
        BinaryNB,
        CategoricalNB,
        ColumnsNB,
        ComplementNB,
        GaussianNB,
        MixedNB,
        MultilabelNB,
        MultinomialNB,
        TextVectorizer,
    )
    from bunrui.rendering import Explanation
    from bunrui.store import StoredClassifier, create, open

__version__ = "0.1.0"
__all__ = [
    "AODE",
    "NBAROW",
    "NBSVM",
    "TWCNB",
    "AnalyzerSpec",
    "BernoulliNB",
    "BinaryNB",
    "CategoricalNB",
    "ColumnsNB",
    "ComplementNB",
    "Counts",
    "Explanation",
    "GaussianNB",
    "MixedNB",
    "MultilabelNB",
    "MultinomialNB",
    "StoredClassifier",
    "TextClassifier",
    "TextVectorizer",
    "__version__",
    "create",
    "open",
]

_HOMES = {
    "AODE": "bunrui.estimators",
    "NBAROW": "bunrui.estimators",
    "NBSVM": "bunrui.estimators",
    "TWCNB": "bunrui.estimators",
    "AnalyzerSpec": "bunrui.analysis",
    "BernoulliNB": "bunrui.estimators",
    "BinaryNB": "bunrui.estimators",
    "CategoricalNB": "bunrui.estimators",
    "ColumnsNB": "bunrui.estimators",
    "ComplementNB": "bunrui.estimators",
    "Counts": "bunrui.counts",
    "Explanation": "bunrui.rendering",
    "GaussianNB": "bunrui.estimators",
    "MixedNB": "bunrui.estimators",
    "MultilabelNB": "bunrui.estimators",
    "MultinomialNB": "bunrui.estimators",
    "StoredClassifier": "bunrui.store",
    "TextClassifier": "bunrui.classifier",
    "TextVectorizer": "bunrui.estimators",
    "create": "bunrui.store",
    "open": "bunrui.store",
}


_MODULES = ("datasets", "documents", "evaluation", "report", "selection")


def __getattr__(name: str) -> Any:
    # Names are imported when they are used: `import bunrui` loads neither numba nor scikit-learn.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"bunrui.{name}")
    raise AttributeError(f"module 'bunrui' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
