"""Rewrite a file: one snapshot, full blocks, and nothing left of what was unlearned."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from bunrui.counts import Counts
from bunrui.errors import StoreError
from bunrui.store import schema
from bunrui.store.blocks import BLOCK_BYTES, BLOCK_DOCS, Block, Row
from bunrui.store.history import history
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
        _rewrite_blocks(store, label_ids, tx)
        db.execute("DELETE FROM removals")
        db.execute("DELETE FROM labels")
        db.executemany("INSERT INTO labels VALUES (?, ?, ?)", [(label, name, tx) for label, name in enumerate(live)])
        db.execute("DELETE FROM cells")
        db.execute("DELETE FROM deltas")
        # Classes without documents have no cells: where they would stand does not matter.
        ids = np.array([places.get(name, len(live)) for name in counts.labels], np.int64)
        insert_counts(db, tx, counts, ids, 1, is_snapshot=True)
        _clear_notes(store)
        store.new_generation()


def _clear_notes(store: Store) -> None:
    """Keep numbers, and forget names of labels and sources, which may be all that was left of a document."""
    for entry in history(store):
        numbers = {key: value for key, value in entry.note.items() if isinstance(value, (int, float))}
        store.db.execute("UPDATE transactions SET note = ? WHERE tx = ?", (json.dumps(numbers), entry.number))


def wipe(store: Store) -> None:
    """Write the file anew without free pages, and empty the journal."""
    try:
        with explained(store.path):
            store.db.execute("PRAGMA temp_store = DEFAULT")  # a copy of the file, too large for memory
            store.db.execute("VACUUM")
    except StoreError as error:
        raise StoreError(
            f"{store.path} was compacted, but what was unlearned could not be wiped out ({error}): compact it again"
        ) from error
    with explained(store.path):
        is_settled = store.settle(schema.WAIT_SECONDS)
    if not is_settled:
        raise StoreError(
            f"{store.path} is compacted, but others are still reading the old one: close them, and compact"
        )


def _rewrite_blocks(store: Store, label_ids: Sequence[int], tx: int) -> None:
    """Join small blocks, leave out what was unlearned, and use the new ids of labels; whole blocks stay."""
    moved = list(label_ids) != list(range(len(label_ids)))
    touched = {block for (block,) in store.db.execute("SELECT DISTINCT block FROM removals")}
    emptied = touched.copy()
    waiting: list[tuple[int, Block]] = []

    def write() -> None:
        """Put one block in the place of those that wait."""
        if not waiting:
            return
        store.db.executemany("DELETE FROM documents WHERE block = ?", [(number,) for number, _ in waiting])
        joined = _joined([block for _, block in waiting])
        label_sets = [sorted(label_ids[label] for label in labels) for labels in joined.label_sets]
        if any(labels[0] < 0 for labels in label_sets):
            raise store.unpacker().damaged("the log has documents of a label that the counts do not have")
        insert_block(store.db, tx, Row.of(joined._replace(label_sets=label_sets)), waiting[0][0])
        waiting.clear()

    for number, block in store.log.blocks():
        emptied.discard(number)
        if waiting and (_size([*waiting, (number, block)]) > 1 or waiting[0][1].given != block.given):
            write()
        if moved or number in touched or _size([(number, block)]) < 0.5:
            waiting.append((number, block))
        else:
            write()
    write()
    store.db.executemany("DELETE FROM documents WHERE block = ?", [(number,) for number in emptied])


def _size(blocks: Sequence[tuple[int, Block]]) -> float:
    """How much of one block they would fill."""
    return max(
        sum(block.n_docs for _, block in blocks) / BLOCK_DOCS,
        sum(len(block.text) for _, block in blocks) / BLOCK_BYTES,
    )


def _joined(blocks: Sequence[Block]) -> Block:
    """One block of the documents of several."""
    label_sets: list[list[int]] = []
    sources: list[str] = []
    codes, source_codes = [], []
    for block in (each.tidy() for each in blocks):
        codes.append(block.codes + len(label_sets))
        source_codes.append(np.where(block.source_codes > 0, block.source_codes + len(sources), 0))
        label_sets += block.label_sets
        sources += block.sources
    sizes = [block.sizes for block in blocks if block.sizes is not None]
    named = any(block.ids is not None for block in blocks)
    return Block(
        times=np.concatenate([block.times for block in blocks]),
        digests=np.concatenate([block.digests for block in blocks]),
        label_sets=label_sets,
        codes=np.concatenate(codes),
        ids=[name for block in blocks for name in (block.ids or [None] * block.n_docs)] if named else None,
        sources=sources,
        source_codes=np.concatenate(source_codes),
        sizes=np.concatenate(sizes) if sizes else None,
        text=b"".join(block.text for block in blocks),
        given=blocks[0].given,
    )
