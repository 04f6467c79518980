"""Steps for datatrove: a filter with the interface of its `FastTextClassifierFilter`, and a labeller.

    LocalPipelineExecutor([
        JsonlReader("crawl/"),
        BunruiClassifierFilter("quality.bunrui", keep_labels=[("good", 0.9)]),
        JsonlWriter("kept/"),
    ]).run()

Documents are scored in batches, because a call for each one takes most of its time (docs/pipelines.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui import store
from bunrui.engines.stream import best_labels
from bunrui.errors import MissingExtraError, OptionError
from bunrui.fasttext import label_shares
from bunrui.labels import text_of
from bunrui.phrases import some
from bunrui.store import StoredClassifier

try:
    from datatrove.io import cached_asset_path_or_download
    from datatrove.pipeline.base import PipelineStep
    from datatrove.pipeline.filters.base_filter import BaseFilter
    from datatrove.utils.batching import batched
    from datatrove.utils.text import SPLIT_TEXT_DOCUMENTS, split_into_parts
    from datatrove.utils.typeshelper import StatHints
except ImportError as error:
    raise MissingExtraError("pipelines", "datatrove", "bunrui.integrations.datatrove needs") from error

__all__ = ["BunruiClassifierFilter", "BunruiLabeller"]

_PREFIX = "__label__"  # in metadata: as the fastText filter has it
_BATCH = 256

Thresholds = Any  # (label, least score), or a list of these


def _open(model_url: str) -> StoredClassifier:
    """The classifier of a file; one at an address is downloaded once, into datatrove's cache."""
    path = model_url
    if not os.path.exists(path) and "://" in path:
        path = cached_asset_path_or_download(path, namespace="filters", subfolder="bunrui", desc="classifier")
    return store.open(path, read_only=True)


class BunruiClassifierFilter(BaseFilter):
    """Keep documents by their labels.

    With `keep_labels`, a document is kept if at least one of these labels has its score or more; with
    `remove_labels`, if none has.  With neither, all that have a text are kept, with the labels in their metadata.

    Parameters
    ----------
    model_url : str
        The file of a classifier, or its address.
    keep_labels, remove_labels : (label, least score), or a list of these
        Give one of them.  A score is the probability of a label.
    save_labels_in_metadata : bool
        Save the scores of all labels in the metadata, as `__label__spam`.
    exclusion_writer : DiskWriter, optional
        Gets the documents that are removed.
    newline_replacement : str, optional
        What stands for a line break when a text is scored.  By default line breaks stay: fastText cannot read them.
    filter_mode : {"DOCUMENT", "PARAGRAPH", "SENTENCE"}
        Judge and keep documents, or each of their paragraphs or sentences by itself.
    batch_size : int
        How many documents are scored at once.
    """

    name = "分類 bunrui"

    def __init__(
        self,
        model_url: str,
        keep_labels: Thresholds | None = None,
        remove_labels: Thresholds | None = None,
        save_labels_in_metadata: bool = True,
        exclusion_writer: Any = None,
        newline_replacement: str | None = None,
        filter_mode: str = SPLIT_TEXT_DOCUMENTS,
        batch_size: int = _BATCH,
    ) -> None:
        super().__init__(exclusion_writer, batch_size)
        if keep_labels and remove_labels:
            raise ValueError("You can only supply one of `keep_labels` or `remove_labels`.")
        self.model_url = model_url
        self.keep_labels, self.remove_labels = _listed(keep_labels), _listed(remove_labels)
        self.save_labels_in_metadata = save_labels_in_metadata
        self.newline_replacement = newline_replacement
        self.filter_mode = filter_mode

    @cached_property
    def model(self) -> StoredClassifier:
        """The classifier, opened when the first document comes, in the process that reads it."""
        model = _open(self.model_url)
        known = [text_of(label) for label in model.classes_.tolist()]
        for label, _ in self.keep_labels + self.remove_labels:
            if text_of(label) not in known:
                raise OptionError(f"{self.model_url} has no label {text_of(label)!r}, only {some(map(repr, known))}")
        return model

    def filter(self, doc: Any) -> bool:
        """Whether a document is kept."""
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: list[Any]) -> list[bool]:
        """Whether each document is kept."""
        units = [split_into_parts(doc.text, mode=self.filter_mode) for doc in batch]
        texts = [unit for parts in units for unit in parts]
        if (sign := self.newline_replacement) is not None:
            texts = [text.strip().replace("\n", sign) for text in texts]
        labels, shares = label_shares(self.model, texts)
        scores, is_kept = shares.tolist(), self._is_kept(labels, shares).tolist()
        keys, start, answers = [f"{_PREFIX}{text_of(label)}" for label in labels], 0, []
        for doc, parts in zip(batch, units, strict=True):
            end = start + len(parts)
            if self.save_labels_in_metadata and parts:
                mean = scores[start] if len(parts) == 1 else shares[start:end].mean(axis=0).tolist()
                doc.metadata.update(zip(keys, mean, strict=True))
            text = "".join(unit for unit, stays in zip(parts, is_kept[start:end], strict=True) if stays)
            answers.append(bool(text.strip()))
            if answers[-1]:  # else the exclusion writer gets the whole text; the fastText filter leaves it none
                doc.text = text
            start = end
        for name, n_units in (("kept_span", sum(is_kept)), ("removed_span", len(texts) - sum(is_kept))):
            if n_units:
                self.stat_update(name, value=n_units)
        return answers

    def _is_kept(self, labels: list[Any], shares: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Which texts are kept, by the probabilities of their labels."""
        column = {text_of(label): at for at, label in enumerate(labels)}
        wanted = self.keep_labels or self.remove_labels
        least = np.array([score for _, score in wanted])
        hit = np.any(shares[:, [column[text_of(label)] for label, _ in wanted]] >= least, axis=1)
        return np.asarray(hit if self.keep_labels else ~hit)


def _listed(labels: Thresholds | None) -> list[tuple[Any, float]]:
    if not labels:
        return []
    return list(labels) if isinstance(labels[0], (tuple, list)) else [tuple(labels)]


class BunruiLabeller(PipelineStep):
    """Add the best label of each document, and its probability, to the metadata: `predicted` and `probability`.

    Parameters
    ----------
    model_url : str
        The file of a classifier, or its address.
    batch_size : int
        How many documents are scored at once.
    """

    type = "🏷 - LABELLER"
    name = "分類 bunrui"

    def __init__(self, model_url: str, batch_size: int = _BATCH) -> None:
        super().__init__()
        self.model_url = model_url
        self.batch_size = batch_size

    @cached_property
    def model(self) -> StoredClassifier:
        """The classifier, opened when the first document comes, in the process that reads it."""
        return _open(self.model_url)

    def run(self, data: Iterable[Any], rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        """The documents, with their labels."""
        for batch in batched(data, self.batch_size):
            with self.track_time("batch"):
                labels, shares = best_labels(self.model, [doc.text for doc in batch])
            for doc, label, share in zip(batch, labels.to_pylist(), shares.to_pylist(), strict=True):
                doc.metadata |= {"predicted": label, "probability": share}
                self.stat_update(StatHints.total)
                self.update_doc_stats(doc)
                yield doc
