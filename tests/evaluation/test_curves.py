"""The learning curve of few documents."""

from __future__ import annotations

import pytest

from bunrui import TextClassifier
from bunrui.errors import DataError
from bunrui.evaluation import learning_curve


@pytest.mark.parametrize("n", [2, 3, 4, 10])
def test_no_more_is_learned_than_there_is(n: int) -> None:
    texts, labels = ["cheap pills", "lunch at noon"] * 5, ["spam", "ham"] * 5
    told: list[tuple[int, int]] = []
    found = learning_curve(
        TextClassifier(), texts[:n], labels[:n], watch=lambda done, total: told.append((done, total))
    )
    assert found.points[-1].documents == n - -(-n // min(n, 5))
    assert all(done <= total for done, total in told)


def test_one_document() -> None:
    with pytest.raises(DataError, match=r"^one document cannot be predicted by others: give at least two$"):
        learning_curve(TextClassifier(), ["a"], ["x"])
