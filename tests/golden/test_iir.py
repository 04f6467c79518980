"""The worked examples of Manning, Raghavan, Schütze, "Introduction to Information Retrieval" (2008), chapter 13.

Table 13.1, the training set and the test document of examples 13.1 (multinomial) and 13.2 (Bernoulli); λ = 1.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from bunrui import AnalyzerSpec, TextClassifier

TRAINING = {
    "Chinese Beijing Chinese": "China",
    "Chinese Chinese Shanghai": "China",
    "Chinese Macao": "China",
    "Tokyo Japan Chinese": "not China",
}
D5 = "Chinese Chinese Chinese Tokyo Japan"


def joint(model: str) -> dict[str, float]:
    """P(c) P(d5 | c)."""
    clf = TextClassifier(model, analyzer=AnalyzerSpec(name="words"), alpha=1.0)
    clf.learn(list(TRAINING), list(TRAINING.values()))
    assert clf.counts.n_features == 6
    return dict(zip(clf.classes_.tolist(), np.exp(clf.scores([D5])[0]).tolist(), strict=True))


def test_example_13_1() -> None:
    """Multinomial: P(Chinese|c) = (5+1)/(8+6) = 3/7, P(Tokyo|c) = P(Japan|c) = 1/14; 2/9 for all three in the other."""
    found = joint("multinomial")
    assert found["China"] == pytest.approx(
        float(Fraction(3, 4) * Fraction(3, 7) ** 3 * Fraction(1, 14) ** 2), rel=1e-13
    )
    assert found["not China"] == pytest.approx(
        float(Fraction(1, 4) * Fraction(2, 9) ** 3 * Fraction(2, 9) ** 2), rel=1e-13
    )
    # As printed.
    assert {label: round(p, 4) for label, p in found.items()} == {"China": 0.0003, "not China": 0.0001}


def test_example_13_2() -> None:
    """Bernoulli: P(Chinese|c) = (3+1)/(3+2) = 4/5, 1/5 for Japan and Tokyo, 2/5 for the three that are absent; 2/3, 2/3
    and 1/3 in the other class."""
    found = joint("bernoulli")
    expected = Fraction(3, 4) * Fraction(4, 5) * Fraction(1, 5) * Fraction(1, 5) * (1 - Fraction(2, 5)) ** 3
    assert found["China"] == pytest.approx(float(expected), rel=1e-13)
    expected = Fraction(1, 4) * Fraction(2, 3) * Fraction(2, 3) * Fraction(2, 3) * (1 - Fraction(1, 3)) ** 3
    assert found["not China"] == pytest.approx(float(expected), rel=1e-13)
    assert {label: round(p, 3) for label, p in found.items()} == {"China": 0.005, "not China": 0.022}


def test_the_examples_disagree() -> None:
    clf = TextClassifier("multinomial", analyzer="words", alpha=1.0).learn(list(TRAINING), list(TRAINING.values()))
    assert clf.predict([D5]).tolist() == ["China"]
    assert clf.with_model("bernoulli").predict([D5]).tolist() == ["not China"]


def test_classes_by_fewer_words() -> None:
    """`binary` and `mixed` read d5 as {Chinese, Tokyo, Japan}; `binary` counts documents: three of class c have
    Chinese, one each the other three of its words, so (3+1)/(6+6) and 1/12."""
    found = joint("binary")
    assert found["China"] == pytest.approx(float(Fraction(3, 4) * Fraction(4, 12) * Fraction(1, 12) ** 2), rel=1e-13)
    assert found["not China"] == pytest.approx(float(Fraction(1, 4) * Fraction(2, 9) ** 3), rel=1e-13)
    found = joint("mixed")
    assert found["China"] == pytest.approx(float(Fraction(3, 4) * Fraction(3, 7) * Fraction(1, 14) ** 2), rel=1e-13)
    assert found["not China"] == pytest.approx(float(Fraction(1, 4) * Fraction(2, 9) ** 3), rel=1e-13)
