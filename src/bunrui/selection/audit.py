"""`audit`: finds documents whose label looks wrong, and copies with different labels.

Each document is left out and predicted by the others (`evaluation.crossvalidation.score_left_out`), and the answers are
calibrated.  Documents are ranked by this number, the lowest first:

    P(given label) - NEAR · P(suggested label)

With 5 of 100 labels changed at random, 85 % of the changed ones are among the first 5 % of the list in 20 Newsgroups,
93 % in SMS spam, 62 % in IMDB (benchmarks/audit.py).

Where documents have several labels, each single label is judged, too: by its log-odds against the rest, divided by the
root of the length, and measured in standard deviations of the documents without the label.  With a label added to or
taken from 5 of 100 documents, 63 % of these are among the first 5 % of the list in Reuters, on which this number was
chosen among nine, and 36 % in GoEmotions; by P(given) alone, 6 and 2 %.  A label that is missing is seldom found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from bunrui.analysis import texts as inputs
from bunrui.calibration import fit_calibration, fit_rising, lengths_of
from bunrui.classifier import AnyClassifier, TextClassifier
from bunrui.counts import Label
from bunrui.evaluation.crossvalidation import score_left_out
from bunrui.evaluation.duplicates import find_duplicates
from bunrui.evaluation.loo import Corpus, LeftOutExplainer
from bunrui.evaluation.result import Why, explain_against
from bunrui.sparse import Integers
from bunrui.views.explanation import Contribution, Explanation

# Where labels are almost equally unlikely, the surer suggestion tells more: without it, wrong labels come much later
# with multinomial, whose probabilities are nearly all 0 or 1; with more of it, they come later with binary-complement.
# With two labels the order is the same with any number.
NEAR = 0.02

# A label is in doubt if a smaller share than this has it, among the documents that look as much like it.  It seems to
# be missing if a smaller share than this lacks it.
UNLIKELY = 0.05


class Doubt(NamedTuple):
    """A single label that looks wrong, where documents have several.

    Attributes
    ----------
    label : label
        One of several that the document has, or one that it seems to lack.
    is_given : bool
        Whether the document has it.
    probability : float
        Of the documents that look as much like the label, the share that has it.
    """

    label: Label
    is_given: bool
    probability: float


class Suspect(NamedTuple):
    """A document whose label looks wrong, or some of its labels.

    Attributes
    ----------
    row : int
        Its place among the documents.
    given : tuple of labels
        The labels that it has.
    suggested : label
        The likeliest label; of a document with doubts, the likeliest that it should have.
    probability, suggested_probability : float
        The probability of all its labels, and that of the suggested one.
    doubts : tuple of Doubt
        Where documents have several labels: those of its labels that look wrong, and those that it seems to lack.
    """

    row: int
    given: tuple[Label, ...]
    suggested: Label
    probability: float
    suggested_probability: float
    doubts: tuple[Doubt, ...] = ()

    @property
    def better(self) -> tuple[Label, ...]:
        """The labels that it should rather have.

        >>> doubts = Doubt("oil", True, 0.01), Doubt("wheat", False, 0.99)
        >>> Suspect(0, ("grain", "oil"), "wheat", 0.2, 0.5, doubts).better
        ('grain', 'wheat')
        """
        wrong = {doubt.label for doubt in self.doubts if doubt.is_given}
        stay = tuple(name for name in self.given if self.doubts and name not in wrong)
        come = tuple(doubt.label for doubt in self.doubts if not doubt.is_given)
        return stay + come or (self.suggested,)


class Conflict(NamedTuple):
    """Exact or near copies of a document with different labels; `labels` of each of `rows`."""

    kind: Literal["exact", "near"]
    rows: tuple[int, ...]
    labels: tuple[tuple[Label, ...], ...]


@dataclass(frozen=True, repr=False, eq=False)
class Audit:
    """The result of an audit.

    Attributes
    ----------
    order : (n_docs,) int64
        All documents, the most suspicious first.
    suspects : tuple of Suspect
        Those whose label is not the likeliest one, or whose single labels are in doubt, in this order.
    conflicts : tuple of Conflict
    alone : tuple of int
        Documents that are the only ones of their label: they cannot be judged.
    texts : sequence
        The documents.
    """

    order: Integers
    suspects: tuple[Suspect, ...]
    conflicts: tuple[Conflict, ...]
    alone: tuple[int, ...]
    texts: Any
    labels: list[tuple[Label, ...]]
    classifier: AnyClassifier

    def __repr__(self) -> str:
        return f"<Audit: {self.n_docs} documents, {len(self.suspects)} suspects, {len(self.conflicts)} conflicts>"

    def _repr_html_(self) -> str:
        from bunrui.views.tables import audit_html

        return audit_html(self)

    @property
    def n_docs(self) -> int:
        """Documents."""
        return len(self.labels)

    def text(self, row: int) -> Any:
        """A document."""
        return inputs.pick(self.texts, [row])[0]

    def explain(self, suspect: Suspect) -> Explanation:
        """Explain the suggested label against the given one, by the model without the document.

        A trained model is trained once, without all suspects, unless a label would be lost.
        """
        text = self.text(suspect.row)
        wrong = [doubt.label for doubt in suspect.doubts if doubt.is_given]
        given = (*wrong, *(name for name in suspect.given if name not in wrong))  # the first one is held against it
        return self._why(text, suspect.suggested, given)

    def words(self, suspect: Suspect, top: int = 5) -> list[Contribution]:
        """The words that speak most against the given label."""
        found = self.explain(suspect).contributions
        return [contribution for contribution in found if contribution.value > 0][:top]

    @cached_property
    def _why(self) -> Why:
        clf = TextClassifier(**self.classifier.get_params())
        if clf.needs_documents:
            without = {suspect.row for suspect in self.suspects}
            rows = [row for row in range(self.n_docs) if row not in without]
            if {name for row in rows for name in self.labels[row]} == {name for names in self.labels for name in names}:
                clf.learn([self.text(row) for row in rows], [list(self.labels[row]) for row in rows])
                return partial(explain_against, clf)
        clf.learn(self.texts, [list(names) for names in self.labels])
        return partial(explain_against, clf) if clf.needs_documents else LeftOutExplainer(clf).explain


def audit(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> Audit:
    """Find labels that look wrong.

    Parameters
    ----------
    clf : TextClassifier
        Its model and options are used; it does not change.
    texts, labels
        Labelled documents; by default those in the classifier file.

    Examples
    --------
    >>> texts = ["cheap pills", "pills now", "pills today", "see you at noon", "lunch at noon", "noon again"]
    >>> found = audit(TextClassifier(analyzer="words"), texts, ["spam", "spam", "ham", "ham", "ham", "ham"])
    >>> [(suspect.row, suspect.given, suspect.suggested) for suspect in found.suspects]
    [(2, ('ham',), 'spam')]
    >>> [word.feature for word in found.words(found.suspects[0])]
    ['pills']
    """
    documents, scores = score_left_out(clf, texts, labels)
    rows, names = np.arange(len(scores)), np.array(documents.classes, object)
    given = [tuple(names[row].tolist()) for row in documents.own]
    top = scores.argmax(axis=1)
    shares = np.ones_like(scores)
    if len(names) > 1:
        lengths = lengths_of(documents.texts)
        shares = fit_calibration(scores, lengths, documents.own).apply(scores, lengths)
    own = np.where(documents.own, shares, 0).sum(axis=1)
    behind = scores.max(axis=1) - np.where(documents.own, scores, -np.inf).max(axis=1)
    is_alone, is_right = np.isinf(behind), documents.own[rows, top]
    # Those that cannot be judged come last.  Where all is the same, the scores decide.
    order = np.lexsort((-behind, own - NEAR * shares[rows, top], is_alone))
    doubts = _doubts(documents.texts, given, clf)
    places = {name: k for k, name in enumerate(documents.classes)}

    def suspect(row: int) -> Suspect:
        about, left = doubts.get(row, []), scores[row].copy()
        left[[places[doubt.label] for doubt in about if doubt.is_given]] = -np.inf
        lacks = [places[doubt.label] for doubt in about if not doubt.is_given]
        place = lacks[0] if lacks else int(left.argmax())
        return Suspect(row, given[row], names[place], float(own[row]), float(shares[row, place]), tuple(about))

    if doubts:
        in_doubt = np.array(list(doubts), np.int64)
        order = np.concatenate([in_doubt, order[~np.isin(order, in_doubt)]])
    suspects = (suspect(row) for row in order.tolist() if row in doubts or not (is_alone[row] or is_right[row]))
    alone = tuple(np.flatnonzero(is_alone).tolist())
    return Audit(order, tuple(suspects), _conflicts(documents.texts, given, clf), alone, documents.texts, given, clf)


def _doubts(texts: Any, given: list[tuple[Label, ...]], clf: AnyClassifier) -> dict[int, list[Doubt]]:
    """Single labels that look wrong, by row, the most doubtful first; none where no document has several labels."""
    if clf.needs_documents or all(len(names) == 1 for names in given):
        return {}
    corpus = Corpus(clf, texts, [list(names) for names in given])
    if not corpus.takes_label_sets:
        return {}
    has, names = corpus.documents.own, corpus.documents.classes
    judged = np.flatnonzero((has.sum(axis=0) > 1) & ~has.all(axis=0))  # others have no documents to compare with
    is_set, has = has.sum(axis=1) > 1, has[:, judged]
    odds = corpus.log_odds()[:, judged] / np.sqrt(1 + lengths_of(texts))[:, None]
    without = np.ma.masked_array(odds, has)
    near = np.asarray((odds - without.mean(axis=0)) / np.maximum(without.std(axis=0), 1e-9)).round(2)
    blocks = fit_rising(near.ravel(), has.ravel().astype(np.float64), np.ones(near.size))
    shares = np.interp(near, blocks.places, blocks.values)
    # A document with one label is judged as a whole, but it may lack another.
    wrong = np.where(has, np.where(is_set[:, None], 1 - shares, 0), shares)
    rows, columns = np.nonzero(wrong > 1 - UNLIKELY)
    found: dict[int, list[Doubt]] = {}
    for k in np.lexsort((np.where(has, near, -near)[rows, columns], -wrong[rows, columns])).tolist():
        row, column = int(rows[k]), int(columns[k])
        doubt = Doubt(names[judged[column]], bool(has[row, column]), float(shares[row, column]))
        found.setdefault(row, []).append(doubt)
    return found


def _conflicts(texts: Any, given: list[tuple[Label, ...]], clf: AnyClassifier) -> tuple[Conflict, ...]:
    if inputs.is_given(texts):
        return ()
    near = not getattr(clf.text_analyzer, "reads_rows", False)
    return tuple(
        Conflict(group.kind, group.rows, tuple(given[row] for row in group.rows))
        for group in find_duplicates(texts, near=near).groups
        if len({given[row] for row in group.rows}) > 1
    )
