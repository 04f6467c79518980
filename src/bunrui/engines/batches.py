"""Batches of documents, as a classifier takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["texts_of"]


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
