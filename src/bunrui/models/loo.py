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
from bunrui.engines import threads
from bunrui.engines.count import count
from bunrui.engines.labelgroups import LabelSets
from bunrui.kernel.loo import Labels
from bunrui.kernel.slices import stretches
from bunrui.kernel.workspace import release
from bunrui.memory import Memory
from bunrui.models.model import Model
from bunrui.models.scorer import Docs, Floats
from bunrui.models.view import select
from bunrui.models.without import Formula, Ground, ground_of, read_rows, score_without

__all__ = ["CountedCorpus"]

Integers = npt.NDArray[np.int64]

# Bytes of a sample: formulas take longer than reading.
_WORTH_THREADS = 1 << 17


class CountedCorpus:
    """Labelled documents that are read and counted once: any model can leave each of them out.

    Attributes
    ----------
    memory : Memory
        Their counts.
    """

    def __init__(
        self,
        analyzer: Analyzer,
        texts: Any,
        sets: LabelSets,
        *,
        memory: Memory | None = None,
        copies: Integers | None = None,
    ) -> None:
        """With `memory`, they are a sample of what it has learned, and the ids of `sets` are those of its labels.

        `copies` says how often each document of a sample was learned: all of them are left out together.  One that is
        alone in its class must not be in a sample.
        """
        docs, recipe = documents_of(analyzer, texts)
        self._is_sample = memory is not None
        self.memory = Memory(count(docs, recipe, sets, analyzer.fingerprint)) if memory is None else memory
        self._analyzer, self._texts, self._sets = analyzer, texts, sets
        self._copies = np.ones(len(sets.groups), np.int64) if copies is None else copies
        is_long = self._is_sample and threads.sizes_of(docs, recipe).sum() >= _WORTH_THREADS
        bounds = stretches(len(self), 1) if is_long else threads.bounds_of(docs, recipe)
        self._rows = read_rows(docs, recipe, self.counts.vocabulary, self._copies, bounds)
        self._grounds: dict[tuple[bool, int], Ground] = {}
        self._priors: dict[str, Callable[[Integers], Floats]] = {}

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
        prior_name: str,
        by_docs: bool,
        by_label: bool,
        min_df: int,
        smooth: bool,
    ) -> Floats:
        """Score every document by the others, (n_docs, n_classes), by a formula that is `local`.

        `formula` makes a scorer from a view and log priors, which `log_prior` makes from documents by class: the same
        ones under the same `prior_name`.  `by_label` says that the prior of a label knows no other labels.  `smooth`:
        words that were never learned count too.
        """
        if prior_name not in self._priors:
            self._priors[prior_name] = self._priors_without(log_prior, by_label=by_label)
        ground, priors_of = self._ground(by_docs, min_df), self._priors[prior_name]
        scores = score_without(ground, formula, priors_of, smooth=smooth, keep=self._is_sample)
        return scores if self._is_sample else self._mark_lonely(scores)

    def _priors_without(self, log_prior: Callable[[Docs], Floats], *, by_label: bool) -> Callable[[Integers], Floats]:
        """A function from documents to log P(c) without each of them, (n_docs, n_classes)."""
        counts, sets = self.counts, self._sets
        base = int(self._copies.max(initial=0)) + 1
        ways, places = np.unique(sets.groups * base + self._copies, return_inverse=True)
        own = np.zeros((len(ways), len(counts.labels)), np.int64)
        for row, (group, copies) in enumerate(zip((ways // base).tolist(), (ways % base).tolist(), strict=True)):
            own[row, sets.indices[sets.members[group] : sets.members[group + 1]]] = copies

        def without(own: Any) -> Floats:
            return log_prior(Docs(counts.labels, counts.doc_count - own, counts.n_docs - 1))

        priors = np.choose(own, [without(0), without(1)]) if by_label else without(own)
        return lambda docs: np.asarray(priors[places[docs]])

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
            if not self._is_sample:
                self._grounds = {}  # one at a time: each is as large as a table of all weights
            doc_total = self.counts.postings.doc_total[: self.counts.n_ids]
            view = select(self.counts, min_df, None)
            labels = Labels(self._sets.groups, self._sets.members, self._sets.indices)
            self._grounds[key] = ground_of(view, doc_total, self._rows, labels, by_docs=by_docs, min_df=min_df)
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
