"""Classifiers that live in a file: everything that they learn is there when the call returns."""

from __future__ import annotations

from bunrui.stored.classifier import StoredClassifier
from bunrui.stored.opening import create, open

__all__ = ["StoredClassifier", "create", "open"]
