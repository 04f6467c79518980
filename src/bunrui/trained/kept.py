"""`Kept`: the documents that a classifier in memory has learned, for models that need them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.counts import Label
from bunrui.engines.labelgroups import LabelSets
from bunrui.errors import UnlearnError
from bunrui.store import document_digests

__all__ = ["Batch", "Kept", "Places", "checked"]

Places = dict[int, list[int]]
Digests = npt.NDArray[np.void]


class Batch(NamedTuple):
    """Documents that were learned at once, with their labels."""

    texts: Any
    sets: LabelSets
    digests: Digests
    number: int = 0  # the same for parts of one batch

    @property
    def label_sets(self) -> list[frozenset[Label]]:
        """The labels of every group of `sets`."""
        names = [self.sets.labels[k] for k in self.sets.indices.tolist()]
        return [frozenset(names[a:b]) for a, b in pairwise(self.sets.members.tolist())]

    def without(self, places: list[int]) -> Batch:
        """All documents but some."""
        if not places:
            return self
        stays = np.ones(len(self.texts), bool)
        stays[places] = False
        rows = np.flatnonzero(stays)
        texts = [self.texts[k] for k in rows] if isinstance(self.texts, list) else self.texts.take(rows)
        return self._replace(texts=texts, sets=self.sets.subset(rows), digests=self.digests[rows])


class Kept:
    """Batches in the order in which they came.

    Attributes
    ----------
    batches : list of Batch
    epoch : int
        How often documents were taken back: what was trained before that is not to be built upon.
    """

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.epoch = 0

    def add(self, texts: Any, sets: LabelSets) -> None:
        """Keep documents; their texts as `checked` gives them."""
        if len(texts):
            number = self.batches[-1].number + 1 if self.batches else 0
            self.batches.append(Batch(texts, sets, document_digests(texts), number))

    def find(self, texts: Any, sets: LabelSets) -> Places:
        """Where documents are, the latest of several; by batch.

        Raises
        ------
        UnlearnError
            If one of them was never learned with these labels.
        """
        wanted: dict[tuple[bytes, frozenset[Label]], list[int]] = defaultdict(list)
        for row, key in enumerate(_keys(Batch(texts, sets, document_digests(texts)))):
            wanted[key].append(row)
        found: Places = {}
        for number in range(len(self.batches) - 1, -1, -1):
            keys = _keys(self.batches[number])
            for place in range(len(keys) - 1, -1, -1):
                if wanted.get(keys[place]):
                    wanted[keys[place]].pop()
                    found.setdefault(number, []).append(place)
        missing = [row for rows in wanted.values() for row in rows]
        if missing:
            row = min(missing)
            raise UnlearnError(f"text {row} was never learned with this label: nothing was taken back", row)
        return found

    def remove(self, places: Places) -> None:
        """Take documents back."""
        left = [batch.without(places.get(number, [])) for number, batch in enumerate(self.batches)]
        self.batches = [batch for batch in left if len(batch.texts)]
        self.epoch += 1

    def extend(self, batches: list[Batch]) -> None:
        """Keep what another has kept."""
        number = self.batches[-1].number + 1 if self.batches else 0
        self.batches += [batch._replace(number=number + k) for k, batch in enumerate(batches)]


def checked(texts: Any) -> Any:
    """Documents in a form that stays as it is: a list, or an Arrow array of strings."""
    if inputs.is_given(texts):
        inputs.given(texts)  # for its checks
        return [dict(document) if isinstance(document, Mapping) else list(document) for document in texts]
    array = inputs.strings(texts)
    return list(array) if isinstance(array, list) else array


def _keys(batch: Batch) -> list[tuple[bytes, frozenset[Label]]]:
    groups: npt.NDArray[np.int64] = batch.sets.groups
    sets = batch.label_sets
    return [(digest.tobytes(), sets[g]) for digest, g in zip(batch.digests, groups.tolist(), strict=True)]
