"""Li Hang, "Statistical Learning Methods" (统计学习方法, 2012), table 4.1 with examples 4.1 and 4.2, section 4.2.

Fifteen rows of x¹ in {1, 2, 3} and x² in {S, M, L}; the query is (2, S).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from bunrui.estimators import CategoricalNB

X1 = [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3]
X2 = ["S", "M", "M", "S", "S", "S", "M", "M", "L", "L", "L", "M", "M", "L", "L"]
Y = [-1, -1, 1, 1, -1, -1, -1, 1, 1, 1, 1, 1, 1, 1, -1]
X = np.array(list(zip(X1, X2, strict=True)), dtype=object)
QUERY = np.array([[2, "S"]], dtype=object)


def joint(**options: object) -> list[float]:
    """P(Y = -1, x) and P(Y = 1, x)."""
    clf = CategoricalNB(**options).fit(X, Y)
    assert clf.classes_.tolist() == [-1, 1]
    assert clf.predict(QUERY).tolist() == [-1]
    return np.exp(clf.predict_joint_log_proba(QUERY)[0]).tolist()


def test_example_4_1() -> None:
    """Maximum likelihood: 6/15 · 2/6 · 3/6 and 9/15 · 3/9 · 1/9."""
    assert joint(smoothing="mle") == pytest.approx([float(Fraction(1, 15)), float(Fraction(1, 45))], rel=1e-12)


def test_example_4_2() -> None:
    """λ = 1, of the prior too: 7/17 · 3/9 · 4/9 and 10/17 · 4/12 · 2/12."""
    found = joint(prior="smoothed")
    assert found == pytest.approx([float(Fraction(28, 459)), float(Fraction(5, 153))], rel=1e-12)
    assert [round(value, 4) for value in found] == [0.0610, 0.0327]


def test_known_numbers_of_values_change_nothing_here() -> None:
    assert joint(prior="smoothed", min_categories=3) == joint(prior="smoothed", min_categories=[3, 3])
