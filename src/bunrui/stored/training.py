"""`LogSource`: the documents of a file, for models that are trained from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bunrui.counts import Counts
from bunrui.engines.labelgroups import label_sets
from bunrui.errors import OptionError
from bunrui.store import History, Store
from bunrui.trained.kept import Batch
from bunrui.trained.names import is_trained

__all__ = ["LogSource", "check_keeps"]


class LogSource:
    """The documents of the log, batch by transaction; read with the file held, and with nobody writing."""

    def __init__(self, store: Store, counts: Counts) -> None:
        self._store = store
        self._counts = counts

    def batches(self, mark: Any) -> tuple[bool, Iterator[Batch], Any]:
        """As `bunrui.trained.training.Source` has it."""
        store, state = self._store, self._store.state()
        # The blocks of what the snapshot stands for may have been joined since.
        goes_on = mark is not None and mark.generation == state.generation and store.snapshot() <= mark.tx
        if goes_on:
            goes_on = all(
                entry.kind in ("learn", "set", "calibrate") for entry in History(store).entries(after=mark.tx)
            )
        if not goes_on:
            self._check_counts()
        return goes_on, self._read(mark.tx if goes_on else 0), state

    def _check_counts(self) -> None:
        """Refuse a log that lacks documents, or has others: no model can be trained from what is left."""
        expected = {label: n for label, (n, _, _) in self._counts.class_totals().items()}
        if self._store.log.doc_counts() != (self._counts.n_docs, expected):
            raise self._store.unpacker().damaged("its log has other documents than its counts")

    def _read(self, after: int) -> Iterator[Batch]:
        """Blocks, cut where a transaction begins: all of one have its time for their number."""
        names = self._store.labels()
        for _, block in self._store.log.blocks(after):
            labels = [[names[k] for k in label_set] for label_set in block.label_sets]
            borders = np.flatnonzero(np.diff(block.times)) + 1
            for rows in np.split(np.arange(block.n_docs), borders):
                part = block.pick(rows)
                sets = label_sets([labels[code] for code in part.codes.tolist()], part.n_docs, {})
                yield Batch(part.documents(), sets, part.digests, int(part.times[0]))


def check_keeps(model: str, keep: str, path: str) -> None:
    """Refuse a model that needs documents where they are not kept."""
    if is_trained(model) and keep != "text":
        raise OptionError(
            f"{model} is trained from documents, and {path} keeps {keep} of them: learn into a file that keeps text, "
            "or choose a model that reads counts"
        )
