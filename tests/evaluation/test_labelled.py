"""Labelled documents: their classes, some of them, and scores by all classes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from bunrui.evaluation.labelled import Labelled

TEXTS, LABELS = ["one", "two", "three"], ["b", ["a", "b"], "c"]


@pytest.mark.parametrize("kind", [list, pa.array])
def test_some_documents(kind: type) -> None:
    documents = Labelled(kind(TEXTS), LABELS)
    texts, labels = documents.pick(np.array([2, 0]))
    assert (pa.array(texts).to_pylist(), labels, len(documents)) == (["three", "one"], [{"c"}, {"b"}], 3)


def test_classes() -> None:
    documents = Labelled(TEXTS, LABELS)
    assert documents.classes == ["a", "b", "c"]
    assert documents.own.tolist() == [[False, True, False], [True, True, False], [False, False, True]]


def test_scores_by_all_classes() -> None:
    """Columns go to the places of their classes, in whatever order they come; the others are -inf."""
    found = Labelled(TEXTS, LABELS).align(["c", "a"], np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert found.tolist() == [[2.0, -np.inf, 1.0], [4.0, -np.inf, 3.0]]
