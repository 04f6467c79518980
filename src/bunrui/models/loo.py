"""Leave-one-out of the counting models: documents that are read and counted once, for all of them.

`without.py` scores every document by the counts without it, in one pass.  Where a formula is not `local`, or words are
chosen anew for every document, each is taken out of the counts, scored, and put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import documents_of
from bunrui.counts import Counts
from bunrui.engines.count import count
from bunrui.engines.labelgroups import LabelSets
from bunrui.kernel.loo import Labels
from bunrui.kernel.workspace import release
from bunrui.memory import Memory
from bunrui.models.model import Model
from bunrui.models.scorer import Docs, Floats
from bunrui.models.view import select
from bunrui.models.without import Formula, Ground, ground_of, read_rows, score_without

__all__ = ["CountedCorpus"]


class CountedCorpus:
    """Labelled documents that are read and counted once: any model can leave each of them out.

    Attributes
    ----------
    memory : Memory
        Their counts.
    """

    def __init__(self, analyzer: Analyzer, texts: Any, sets: LabelSets) -> None:
        docs, recipe = documents_of(analyzer, texts)
        self.memory = Memory(count(docs, recipe, sets, analyzer.fingerprint))
        self._analyzer, self._texts, self._sets = analyzer, texts, sets
        self._rows = read_rows(docs, recipe, self.counts.vocabulary)
        self._grounds: dict[tuple[bool, int], Ground] = {}

    @property
    def counts(self) -> Counts:
        """The counts of all documents."""
        return self.memory.counts

    def __len__(self) -> int:
        return len(self._sets.groups)

    def score(
        self,
        formula: Formula,
        log_prior: Callable[[Docs], Floats],
        *,
        by_docs: bool,
        by_label: bool,
        min_df: int,
        smooth: bool,
    ) -> Floats:
        """Score every document by the others, (n_docs, n_classes), by a formula that is `local`.

        `formula` makes a scorer from a view and log priors, which `log_prior` makes from documents by class; `by_label`
        says that the prior of a label knows no other labels.  `smooth`: words that were never learned count too.
        """
        counts, sets = self.counts, self._sets

        def prior_without(own: Any) -> Floats:
            return log_prior(Docs(counts.labels, counts.doc_count - own, counts.n_docs - 1))

        apart = [prior_without(0), prior_without(1)] if by_label else []

        def priors_of(labels: Labels, docs: npt.NDArray[np.int64]) -> Floats:
            groups, places = np.unique(labels.groups[docs], return_inverse=True)
            own = np.zeros((len(groups), len(counts.labels)), np.int64)
            for row, group in enumerate(groups.tolist()):
                own[row, labels.classes[labels.starts[group] : labels.starts[group + 1]]] = 1
            priors = np.choose(own, apart) if by_label else np.stack([prior_without(each) for each in own])
            return np.asarray(priors[places])

        ground = self._ground(by_docs, min_df)
        labels = Labels(sets.groups, sets.members, sets.indices)
        return self._mark_lonely(score_without(ground, formula, labels, priors_of, smooth=smooth))

    def score_one_by_one(self, make: Callable[[Memory], Model]) -> Floats:
        """Score every document by the others, (n_docs, n_classes), by any model that reads a memory."""
        counts = self.counts.copy()
        model = make(Memory(counts))
        out = np.full((len(self), len(counts.labels)), -np.inf)
        for row, (text, own) in enumerate(self._each()):
            counts.subtract(own)
            classes, scores = model.scores(text)
            out[row, [counts.label_ids[name] for name in classes]] = scores[0]
            counts.add(own)
            release(own.vocabulary)
        return out

    def _each(self) -> Iterator[tuple[Any, Counts]]:
        """Every document by itself, and its counts."""
        for row in range(len(self)):
            text = inputs.pick(self._texts, [row])
            own = self._sets.subset(np.array([row]))
            yield text, count(*documents_of(self._analyzer, text), own, self.counts.fingerprint)

    def _ground(self, by_docs: bool, min_df: int) -> Ground:
        key = by_docs, min_df
        if key not in self._grounds:
            self._grounds = {}  # one at a time: each is as large as a table of all weights
            doc_total = self.counts.postings.doc_total[: self.counts.n_ids]
            view = select(self.counts, min_df, None)
            self._grounds[key] = ground_of(view, doc_total, self._rows, by_docs=by_docs, min_df=min_df)
        return self._grounds[key]

    def _mark_lonely(self, scores: Floats) -> Floats:
        """The scores with -inf where no other document has the label."""
        sets = self._sets
        groups = np.repeat(np.arange(len(sets.members) - 1), np.diff(sets.members))
        lonely = self.counts.doc_count[sets.indices] == 1
        document = np.empty(len(sets.members) - 1, np.int64)
        document[sets.groups] = np.arange(len(sets.groups))
        scores[document[groups[lonely]], sets.indices[lonely]] = -np.inf
        return scores
