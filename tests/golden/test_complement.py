"""The complement by hand: two documents, three words, λ = 1.

                a   b   c   all
    class 1     2   2   0    4
    class 2     1   0   4    5        V = 3, and the query is a once, b twice

Of two classes each is the other's complement.  Smoothed:

                a                 b                 c
    class 1     (2+1)/(4+3) 3/7   (2+1)/(4+3) 3/7   (0+1)/(4+3) 1/7
    class 2     (1+1)/(5+3) 1/4   (0+1)/(5+3) 1/8   (4+1)/(5+3) 5/8

    multinomial   P(1) 3/7 (3/7)² = 27/686         P(2) 1/4 (1/8)² = 1/512
    complement    class 1 by the words of class 2: -log(1/4 (1/8)²) = log 256
                  class 2 by the words of class 1: -log(3/7 (3/7)²) = log 343/27
    wcnb          the same, divided by Σ|w|:  class 1  log 4 + log 8 + log 8/5 = log 256/5
                                              class 2  2 log 7/3 + log 7       = log 343/9
"""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest

from bunrui import TextClassifier

DOCUMENTS = [("1", {"a": 2, "b": 2}), ("2", {"a": 1, "c": 4})]
QUERY = {"a": 1, "b": 2}


@pytest.fixture
def clf() -> TextClassifier:
    clf = TextClassifier("complement", alpha=1.0)
    clf.learn([words for _, words in DOCUMENTS], [label for label, _ in DOCUMENTS])
    assert clf.classes_.tolist() == ["1", "2"]
    return clf


def test_multinomial(clf: TextClassifier) -> None:
    found = np.exp(clf.with_model("multinomial").scores([QUERY])[0])
    assert found.tolist() == pytest.approx(
        [float(Fraction(1, 2) * Fraction(27, 343)), float(Fraction(1, 2) * Fraction(1, 256))], rel=1e-13
    )
    assert float(Fraction(1, 2) * Fraction(27, 343)) == float(Fraction(27, 686))


def test_complement(clf: TextClassifier) -> None:
    assert clf.scores([QUERY])[0].tolist() == pytest.approx([log(256), log(Fraction(343, 27))], rel=1e-13)
    assert clf.predict([QUERY]).tolist() == ["1"]


def test_weight_normalised(clf: TextClassifier) -> None:
    wcnb = clf.with_model("wcnb")
    expected = [log(256) / log(Fraction(256, 5)), log(Fraction(343, 27)) / log(Fraction(343, 9))]
    assert wcnb.scores([QUERY])[0].tolist() == pytest.approx(expected, rel=1e-13)
    assert wcnb.predict([QUERY]).tolist() == ["1"]
    # The word of class 2 alone: 5/8 outside class 1 is likelier than 1/7 outside class 2, so class 2 wins.
    expected = [log(Fraction(8, 5)) / log(Fraction(256, 5)), log(7) / log(Fraction(343, 9))]
    assert wcnb.scores([{"c": 1}])[0].tolist() == pytest.approx(expected, rel=1e-13)
    assert wcnb.predict([{"c": 1}]).tolist() == ["2"]


def test_on_presence(clf: TextClassifier) -> None:
    """One document each: 2/5 for a word that it has, 1/5 for one that it lacks; the query is {a, b}."""
    found = clf.with_model("binary-complement").scores([QUERY])[0]
    assert found.tolist() == pytest.approx(
        [-log(Fraction(2, 5) * Fraction(1, 5)), -log(Fraction(2, 5) * Fraction(2, 5))], rel=1e-13
    )


def test_three_classes() -> None:
    """With a third class {b: 3, c: 1}, the complement of class 1 has a 1, b 3, c 5, so (n+1)/(9+3)."""
    clf = TextClassifier("complement", alpha=1.0)
    clf.learn([*(words for _, words in DOCUMENTS), {"b": 3, "c": 1}], ["1", "2", "3"])
    expected = [
        -log(Fraction(2, 12) * Fraction(4, 12) ** 2),
        -log(Fraction(3, 11) * Fraction(6, 11) ** 2),  # outside class 2: a 2, b 5, c 1
        -log(Fraction(4, 12) * Fraction(3, 12) ** 2),  # outside class 3: a 3, b 2, c 4
    ]
    assert clf.scores([QUERY])[0].tolist() == pytest.approx(expected, rel=1e-13)
