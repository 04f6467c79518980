"""Labels with a separator in one column → lists of labels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bunrui.documents.reading import Reading

__all__ = ["with_label_sets"]


def with_label_sets(batch: pa.RecordBatch, reading: Reading) -> pa.RecordBatch:
    """The batch with labels cut at the separator, those of lists too; spaces around them are left out."""
    separator, label = reading.options.separator, batch["label"]
    if not separator or reading.source.label is not None:
        return batch
    listed = pa.types.is_list(label.type)
    owner = pc.list_parent_indices(label).to_numpy() if listed else np.arange(len(label))
    parts = pc.split_pattern(label.flatten() if listed else label, separator)
    names = pc.utf8_trim_whitespace(parts.flatten())
    there = pc.not_equal(names, "")
    rows = owner[pc.list_parent_indices(parts).filter(there).to_numpy()]
    sizes = np.bincount(rows, minlength=len(label))
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
    place = batch.schema.get_field_index("label")
    batch = batch.set_column(place, "label", pa.ListArray.from_arrays(offsets, names.filter(there)))
    if (sizes > 0).all():
        return batch
    lines = batch["line"].to_pylist()
    for row in np.flatnonzero(sizes == 0).tolist():
        reading.bad(f"there is no label between the separators {separator!r}: give one", lines[row])
    return batch.filter(pa.array(sizes > 0))
