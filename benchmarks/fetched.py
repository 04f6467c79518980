"""What `bunrui datasets fetch` has brought, for corpora that are not in the folder of corpora.py."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from bunrui import datasets
from bunrui.errors import BunruiError


def load(name: str, split: str = "all") -> pa.Table:
    """A corpus or a split of it; FileNotFoundError says how to get it."""
    try:
        return datasets.load(name, split)
    except BunruiError as error:
        raise FileNotFoundError(str(error)) from error


def with_unlabelled(name: str, split: str) -> pa.Table:
    """A split with its documents that have no label, which come last."""
    table, rest = load(name, split), datasets.path(name) / f"{split}-unlabelled.parquet"
    return pa.concat_tables([table, pq.read_table(rest)]) if rest.is_file() else table
