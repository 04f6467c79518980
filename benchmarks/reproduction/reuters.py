"""Reuters-21578, ModApte: each topic against the rest, where precision meets recall.

The break-even of a topic is the precision of its n best documents, n being those that have it; the micro-average takes
the documents of all topics together.  Joachims (2002, p. 114) has them for naive Bayes by topic and over 90 topics, as
Manning, Raghavan and Schütze (2008), table 15.2, print them.
"""

from __future__ import annotations

from collections.abc import Iterator

import multilabel
import numpy as np

from bunrui import BernoulliNB, MultilabelNB, MultinomialNB
from bunrui.evaluation.metrics import measure_labels
from reproduction.rows import NONE, UNVERIFIED, Row

BREAK_EVEN, F = "macro / micro break-even, %", "macro-F / micro-F"
# Of naive Bayes: earn, acq, money-fx, grain, crude, trade, interest, ship, wheat, corn.
TEN = (96.0, 90.7, 59.6, 69.8, 81.2, 52.2, 57.6, 80.9, 63.4, 45.2)
CORPORA = {"reuters10": ("ModApte", f"{np.mean(TEN):.2f} / –"), "reuters90": ("ModApte, 90 topics", "– / 72.3")}
# The first is the published one.
MODELS = {
    "multinomial λ=1": MultinomialNB(alpha=1.0),
    "multinomial λ=.1": MultinomialNB(alpha=0.1),
    "Bernoulli λ=1": BernoulliNB(alpha=1.0),
}
WEAK = "all words are read; Manning et al. call the published figures too weak for naive Bayes"
ZERO = "labels with log-odds above 0"


def run(_: str | None) -> Iterator[Row]:
    """Rows: break-even, and F at log-odds 0.  The folder is that of `corpora.data_folder()`."""
    for name, (split, published) in CORPORA.items():
        task = multilabel.load(name)
        split = f"{split}, {task.X.shape[0]:,} / {task.X_test.shape[0]:,}"
        for k, (model, estimator) in enumerate(MODELS.items()):
            setting = f"{model}, {task.Y.shape[1]} topics"
            clf = MultilabelNB(estimator).fit(task.X, task.Y)
            points, micro = break_even(clf.predict_log_odds(task.X_test), task.Y_test)
            theirs = {} if k else {"published": published, "comment": WEAK}
            yield Row("reuters", setting, split, BREAK_EVEN, ours=(float(points.mean()), micro), percent=True, **theirs)
            found = measure_labels(task.Y_test, clf.predict(task.X_test))
            unknown = NONE if k else UNVERIFIED
            yield Row("reuters", setting, split, F, unknown, (found.macro.f1, found.micro.f1), comment=ZERO)


def break_even(odds: np.ndarray, has: np.ndarray) -> tuple[np.ndarray, float]:
    """Of each topic that a document has, and over all of them.

    >>> points, micro = break_even(np.array([[3.0, 1], [2, 5], [1, 4]]), np.array([[1, 0], [0, 1], [1, 0]]))
    >>> points.tolist(), round(micro, 4)
    ([0.5, 1.0], 0.6667)
    """
    sizes = has.sum(axis=0)
    right = np.array([has[np.argsort(-odds[:, k], kind="stable")[:n], k].sum() for k, n in enumerate(sizes)])
    return right[sizes > 0] / sizes[sizes > 0], float(right.sum() / sizes.sum())
