"""Batches of documents, as a classifier takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["labels_in", "texts_of"]


def texts_of(batch: pa.RecordBatch) -> Any:
    """The documents: an array of strings, or lists of tokens, or mappings from word to count.

    >>> import pyarrow as pa
    >>> texts_of(pa.record_batch({"text": pa.array([["a", "b"], []])}))
    [['a', 'b'], []]
    >>> texts_of(pa.record_batch({"text": pa.array([[("a", 2)]], pa.map_(pa.string(), pa.int64()))}))
    [{'a': 2}]
    """
    import pyarrow as pa

    texts = batch["text"]
    if pa.types.is_map(texts.type):
        return [dict(pairs) for pairs in texts.to_pylist()]
    if pa.types.is_list(texts.type) or pa.types.is_large_list(texts.type):
        return texts.to_pylist()
    return texts


def labels_in(batch: pa.RecordBatch) -> set[str]:
    """The labels that occur.

    >>> import pyarrow as pa
    >>> sorted(labels_in(pa.record_batch({"label": ["x", "y", "x"]})))
    ['x', 'y']
    >>> sorted(labels_in(pa.record_batch({"label": [["x", "z"], ["x"]]})))
    ['x', 'z']
    """
    import pyarrow as pa

    labels = batch["label"]
    if pa.types.is_list(labels.type) or pa.types.is_large_list(labels.type):
        labels = labels.flatten()
    return set(labels.unique().to_pylist())
