"""The scikit-learn side: estimators and transformers for pipelines.  Only this package imports scikit-learn."""

from __future__ import annotations

from bunrui.estimators.vectorizer import TextVectorizer

__all__ = ["TextVectorizer"]
