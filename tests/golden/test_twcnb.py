"""TWCNB by hand: two documents, three words, λ = 1; Rennie, Shih, Teevan, Karger (2003), table 4.

                            a                 b                 c
    counts        class 1   2                 2                 0
                  class 2   1                 0                 4
    log TF        class 1   log 3             log 3             0
                  class 2   log 2             0                 log 5
    IDF                     log 2/2 = 0       log 2/1           log 2/1
    both          class 1   0                 log 3 · log 2     0
                  class 2   0                 0                 log 5 · log 2
    length norm   class 1   0                 1                 0
                  class 2   0                 0                 1

What is in all documents is nothing, and of each document one word is left, of length 1, whatever the logarithms are.
Of two classes each is the other's complement, so class 1 has the weights of document 2:

    complement    class 1   (0+1)/(1+3) 1/4   (0+1)/(1+3) 1/4   (1+1)/(1+3) 1/2
                  class 2   1/4               1/2               1/4
    log           class 1   -2 log 2          -2 log 2          -log 2                Σ|w| = 5 log 2
    ÷ Σ|w|        class 1   -.4               -.4               -.2
                  class 2   -.4               -.2               -.4

The query is a once, b twice, as raw counts: class 1 has -.4 - .8 = -1.2, class 2 has -.4 - .4 = -.8, and the smallest
wins: class 1.  Transformed it would be b alone, of length 1: -.4 against -.2, the same class.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from bunrui.estimators import TWCNB, ComplementNB

X = np.array([[2, 2, 0], [1, 0, 4]])
Y = [1, 2]
QUERY = np.array([[1, 2, 0]])
WEIGHTS = [[-0.4, -0.4, -0.2], [-0.4, -0.2, -0.4]]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_weights_and_scores(form: type) -> None:
    clf = TWCNB().fit(form(X), Y)
    assert clf.classes_.tolist() == [1, 2]
    np.testing.assert_allclose(clf.weights_, WEIGHTS, rtol=1e-13)
    np.testing.assert_allclose(-clf.predict_joint_log_proba(form(QUERY)), [[-1.2, -0.8]], rtol=1e-13)
    assert clf.predict(form(QUERY)).tolist() == [1]


def test_transformed_query() -> None:
    clf = TWCNB(transform_queries=True).fit(X, Y)
    np.testing.assert_allclose(-clf.predict_joint_log_proba(QUERY), [[-0.4, -0.2]], rtol=1e-13)
    # a alone is in all documents: nothing is left of it, and ties go to the first.
    np.testing.assert_array_equal(clf.predict_joint_log_proba([[5, 0, 0]]), [[0, 0]])


def test_the_switches_make_it() -> None:
    switched = ComplementNB(complement=True, norm=True, log_tf=True, idf=True, length_norm=True).fit(X, Y)
    np.testing.assert_array_equal(switched.weights_, TWCNB().fit(X, Y).weights_)


@pytest.mark.parametrize(
    ("off", "weights"),
    [
        # Without the complement each class has its own word.
        ("complement", [[-0.4, -0.2, -0.4], [-0.4, -0.4, -0.2]]),
        ("norm", np.log([[1 / 4, 1 / 4, 1 / 2], [1 / 4, 1 / 2, 1 / 4]])),
        # One word is left of each document, so that log TF only changes what the length norm undoes.
        ("log_tf", WEIGHTS),
    ],
)
def test_one_step_off(off: str, weights: list[list[float]]) -> None:
    steps = dict.fromkeys(["complement", "norm", "log_tf", "idf", "length_norm"], True) | {off: False}
    np.testing.assert_allclose(ComplementNB(**steps).fit(X, Y).weights_, weights, rtol=1e-13)


def test_without_length_norm() -> None:
    b, c = np.log(3) * np.log(2), np.log(5) * np.log(2)
    expected = np.log([[1 / (c + 3), 1 / (c + 3), (c + 1) / (c + 3)], [1 / (b + 3), (b + 1) / (b + 3), 1 / (b + 3)]])
    expected /= np.abs(expected).sum(axis=1, keepdims=True)
    clf = ComplementNB(norm=True, log_tf=True, idf=True).fit(X, Y)
    np.testing.assert_allclose(clf.weights_, expected, rtol=1e-13)
