"""A classifier on disk: one SQLite file.  SQL stands here and nowhere else."""

from __future__ import annotations

from bunrui.store.blocks import DIGEST, Batch, Block, Row, document_digests
from bunrui.store.cells import Part, packed
from bunrui.store.compact import compact, join, wipe
from bunrui.store.creation import unfinished, unpublished
from bunrui.store.history import Entry, History, undo
from bunrui.store.index import Index, id_words
from bunrui.store.log import key_words
from bunrui.store.schema import FORMAT
from bunrui.store.store import KEEPS, State, Store, apply
from bunrui.store.transaction import Transaction

__all__ = [
    "DIGEST",
    "FORMAT",
    "KEEPS",
    "Batch",
    "Block",
    "Entry",
    "History",
    "Index",
    "Part",
    "Row",
    "State",
    "Store",
    "Transaction",
    "apply",
    "compact",
    "document_digests",
    "id_words",
    "join",
    "key_words",
    "packed",
    "undo",
    "unfinished",
    "unpublished",
    "wipe",
]
