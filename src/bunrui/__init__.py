"""bunrui (分類): text classification by counting."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bunrui import datasets as datasets
    from bunrui import documents as documents
    from bunrui import evaluation as evaluation
    from bunrui import report as report
    from bunrui import selection as selection
    from bunrui import store as store
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
    from bunrui.store import StoredClassifier, create, open
    from bunrui.views.explanation import Explanation

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
    "AnalyzerSpec": "analysis",
    "Counts": "counts",
    "Explanation": "views.explanation",
    "StoredClassifier": "store",
    "TextClassifier": "classifier",
    "create": "store",
    "open": "store",
}
"""The modules of all names but the estimators."""

_MODULES = ("datasets", "documents", "evaluation", "report", "selection", "store")


def __getattr__(name: str) -> Any:
    # Names are imported when they are used: `import bunrui` loads neither NumPy nor scikit-learn.
    if name in __all__:
        return getattr(import_module(f"bunrui.{_HOMES.get(name, 'estimators')}"), name)
    if name in _MODULES:
        return import_module(f"bunrui.{name}")
    raise AttributeError(f"module 'bunrui' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
