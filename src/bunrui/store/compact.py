"""Rewrite a file: one snapshot, full blocks, and nothing left of what was unlearned."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np

from bunrui.counts import Counts
from bunrui.errors import StoreError
from bunrui.store.blocks import BLOCK_BYTES, BLOCK_DOCS, Block, Row
from bunrui.store.store import Store
from bunrui.store.transaction import insert_block, insert_counts
from bunrui.store.trouble import explained

__all__ = ["compact", "wipe"]


def compact(store: Store, counts: Counts) -> None:
    """Rewrite a file whose counts are `counts`; call while writing, then `wipe` when that is committed."""
    with explained(store.path):
        db = store.db
        tx = store.state().tx
        names = store.labels()
        live = [name for name in names if name in counts.label_ids and counts.doc_count[counts.label_ids[name]]]
        places = {name: label for label, name in enumerate(live)}
        label_ids = [places.get(name, -1) for name in names]
        _rewrite_blocks(store, label_ids)
        db.execute("DELETE FROM removals")
        db.execute("DELETE FROM labels")
        db.executemany("INSERT INTO labels VALUES (?, ?)", enumerate(live))
        db.execute("DELETE FROM cells")
        db.execute("DELETE FROM deltas")
        # Classes without documents have no cells: where they would stand does not matter.
        ids = np.array([places.get(name, len(live)) for name in counts.labels], np.int64)
        insert_counts(db, tx, counts, ids, 1, is_snapshot=True)
        store.new_generation()


def wipe(store: Store) -> None:
    """Write the file anew without free pages, and empty the journal."""
    with explained(store.path):
        store.db.execute("VACUUM")
        busy, _, _ = store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise StoreError(
            f"{store.path} is compacted, but others are still reading the old one: close them, and compact"
        )


def _rewrite_blocks(store: Store, label_ids: Sequence[int]) -> None:
    """Join small blocks, leave out what was unlearned, and use the new ids of labels; whole blocks stay."""
    moved = list(label_ids) != list(range(len(label_ids)))
    touched = {block for (block,) in store.db.execute("SELECT DISTINCT block FROM removals")}
    emptied = touched.copy()
    waiting: list[tuple[int, Block]] = []
    for number, block in store.log.blocks():
        emptied.discard(number)
        if waiting and (_size([*waiting, (number, block)]) > 1 or waiting[0][1].given != block.given):
            _write(store.db, waiting, label_ids)
            waiting = []
        if moved or number in touched or _size([(number, block)]) < 0.5:
            waiting.append((number, block))
        elif waiting:
            _write(store.db, waiting, label_ids)
            waiting = []
    if waiting:
        _write(store.db, waiting, label_ids)
    store.db.executemany("DELETE FROM documents WHERE block = ?", [(number,) for number in emptied])


def _size(blocks: Sequence[tuple[int, Block]]) -> float:
    """How much of one block they would fill."""
    return max(
        sum(block.n_docs for _, block in blocks) / BLOCK_DOCS,
        sum(len(block.text) for _, block in blocks) / BLOCK_BYTES,
    )


def _write(db: sqlite3.Connection, blocks: Sequence[tuple[int, Block]], label_ids: Sequence[int]) -> None:
    """Put one block in the place of several."""
    db.executemany("DELETE FROM documents WHERE block = ?", [(number,) for number, _ in blocks])
    joined = _joined([block for _, block in blocks], label_ids)
    insert_block(db, int(joined.txs.max()), Row.of(joined), blocks[0][0])


def _joined(blocks: Sequence[Block], label_ids: Sequence[int]) -> Block:
    label_sets: dict[tuple[int, ...], int] = {}
    sources: dict[str, int] = {}
    codes, source_codes = [], []
    for block in blocks:
        used = np.unique(block.codes)
        map_codes = np.zeros(len(block.label_sets), np.int64)
        for code in used.tolist():
            labels = tuple(sorted(label_ids[label] for label in block.label_sets[code]))
            map_codes[code] = label_sets.setdefault(labels, len(label_sets))
        codes.append(map_codes[block.codes])
        map_sources = np.zeros(len(block.sources) + 1, np.int64)
        for code in np.unique(block.source_codes[block.source_codes > 0]).tolist():
            map_sources[code] = 1 + sources.setdefault(block.sources[code - 1], len(sources))
        source_codes.append(map_sources[block.source_codes])
    sizes = [block.sizes for block in blocks if block.sizes is not None]
    named = any(block.ids is not None for block in blocks)
    return Block(
        txs=np.concatenate([block.txs for block in blocks]),
        digests=np.concatenate([block.digests for block in blocks]),
        label_sets=[list(labels) for labels in label_sets],
        codes=np.concatenate(codes),
        ids=[name for block in blocks for name in (block.ids or [None] * block.n_docs)] if named else None,
        sources=list(sources),
        source_codes=np.concatenate(source_codes),
        sizes=np.concatenate(sizes) if sizes else None,
        text=b"".join(block.text for block in blocks),
        given=blocks[0].given,
    )
