"""Classifiers that live in a file: everything that they learn is there when the call returns."""

from __future__ import annotations

from bunrui.stored.checking import Report
from bunrui.stored.classifier import StoredClassifier
from bunrui.stored.opening import create, creating, open

__all__ = ["Report", "StoredClassifier", "create", "creating", "open"]
