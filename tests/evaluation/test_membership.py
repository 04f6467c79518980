"""True labels → classes, whatever the labels come in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui.errors import LabelError
from bunrui.evaluation.membership import membership

few = st.sampled_from("abcd")


@given(st.lists(few | st.sets(few, min_size=1), min_size=1, max_size=80), st.permutations("abcx"))
def test_every_cell(true: list[str | set[str]], classes: list[str]) -> None:
    expected = [[label in ({own} if isinstance(own, str) else own) for label in classes] for own in true]
    found = membership(true, classes)
    assert found.dtype == bool
    assert found.tolist() == expected


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pa.array, iter])
def test_kinds(kind: type) -> None:
    labels = ["b", "a", "c"] * 20
    assert membership(kind(labels), ["a", "b"]).tolist() == [[False, True], [True, False], [False, False]] * 20


def test_no_class_at_all() -> None:
    assert membership(["a", "b"], []).shape == (2, 0)


def test_wrong_labels() -> None:
    with pytest.raises(LabelError, match=r"^true labels: text 1 has no label: give at least one$"):
        membership(["a", []], ["a"])
