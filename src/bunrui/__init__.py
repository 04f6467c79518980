"""bunrui (分類): text classification by counting."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bunrui.analysis import AnalyzerSpec
    from bunrui.classifier import TextClassifier
    from bunrui.counts import Counts
    from bunrui.estimators import TextVectorizer
    from bunrui.explanation import Explanation

__version__ = "0.1.0"
__all__ = ["AnalyzerSpec", "Counts", "Explanation", "TextClassifier", "TextVectorizer", "__version__"]

_HOMES = {
    "AnalyzerSpec": "bunrui.analysis",
    "Counts": "bunrui.counts",
    "Explanation": "bunrui.explanation",
    "TextClassifier": "bunrui.classifier",
    "TextVectorizer": "bunrui.estimators",
}


def __getattr__(name: str) -> Any:
    # Names are imported when they are used: `import bunrui` loads neither numba nor scikit-learn.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'bunrui' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
