"""Classifiers that live in a file: everything that they learn is there when the call returns.

SQL stands here and nowhere else.
"""

from __future__ import annotations

from bunrui.store.check import Report
from bunrui.store.classifier import StoredClassifier, create, creating, open

__all__ = ["Report", "StoredClassifier", "create", "creating", "open"]
