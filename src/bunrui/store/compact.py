"""Rewrite a file: one snapshot, full blocks, and no trace of unlearned documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from bunrui.counts import Counts
from bunrui.errors import StoreError
from bunrui.store import schema
from bunrui.store.log import BLOCK_BYTES, BLOCK_DOCS, Block
from bunrui.store.pool import PoolChange
from bunrui.store.schema import seal
from bunrui.store.store import Store
from bunrui.store.transaction import NAMED, SIGNED, History, Transaction, insert_block, insert_removals

# How full blocks are when they are joined on the way: to change one document, all of its block is read, which takes
# 0.9 ms for 4,096 short documents, and 5.6 for 32,768.
_ON_THE_WAY = 1 / 16

Numbered = tuple[int, Block]


def compact(store: Store, transaction: Transaction, counts: Counts) -> None:
    """Rewrite a file whose counts are `counts`; call while writing, then `wipe` when that is committed."""
    tx, names = transaction.number, store.labels()
    live = [name for name in names if name in counts.label_ids and counts.doc_count[counts.label_ids[name]]]
    places = {name: label for label, name in enumerate(live)}
    _rewrite_blocks(store, [places.get(name, -1) for name in names], tx)
    PoolChange(store, tx, transaction.time).rewrite()
    store.db.execute("DELETE FROM removals")
    store.db.execute("DELETE FROM labels")
    transaction.label_ids(live)
    transaction.snapshot(counts, tx)
    _clear_notes(store)
    store.new_generation()


def _clear_notes(store: Store) -> None:
    """Keep numbers and authors; forget names of labels and sources, which may be all that was left of a document."""
    for entry in History(store).entries():
        kept = {
            name: value
            for name, value in entry.note.items()
            if (isinstance(value, (int, float)) and name not in NAMED) or name in SIGNED
        }
        note = json.dumps(kept, ensure_ascii=False)
        store.db.execute("UPDATE transactions SET note = ? WHERE tx = ?", (note, entry.number))
    seal(store.db, "transactions")


def wipe(store: Store) -> None:
    """Write the file anew without free pages, and empty the journal."""
    try:
        store.db.execute("PRAGMA temp_store = DEFAULT")  # a copy of the file, too large for memory
        store.db.execute("VACUUM")
    except StoreError as error:
        problem = f"{store.path} was compacted, but unlearned documents could not be wiped out ({error})"
        raise StoreError(problem, hint="compact it again") from error
    if not store.settle(schema.WAIT_SECONDS):
        problem = f"{store.path} is compacted, but others are still reading the old one"
        raise StoreError(problem, hint="close them, and compact")


def _rewrite_blocks(store: Store, label_ids: Sequence[int], tx: int) -> None:
    """Join small blocks, leave out unlearned documents, and use the new ids of labels; whole blocks stay."""
    moved = list(label_ids) != list(range(len(label_ids)))
    touched = {block for (block,) in store.db.execute("SELECT DISTINCT block FROM removals")}

    def stays(each: Numbered) -> bool:
        return not moved and each[0] not in touched and _size([each]) >= 0.5

    left = [_put(store, group, tx, label_ids) for group in _groups(store.log.blocks(), stays=stays)]
    _delete(store, touched.difference(*left))


def join(store: Store, tx: int) -> None:
    """Join neighbouring blocks that are small or have lost most of their documents; call while writing.

    Only when the snapshot stands for all transactions up to `tx`: a part of a block cannot be undone by itself.
    Blocks that stay get one row for all that was unlearned of them.
    """
    gone = dict(store.db.execute("SELECT block, sum(n_docs) FROM removals GROUP BY block"))
    for numbers in _neighbours(store, gone):
        left = [_put(store, group, tx) for group in _groups(store.log.blocks(numbers=numbers), _ON_THE_WAY)]
        _delete(store, set(numbers).difference(*left))
        store.db.executemany("DELETE FROM removals WHERE block = ?", [(number,) for number in numbers])
    removals = store.log.gone()
    store.db.execute("DELETE FROM removals")
    insert_removals(store.db, tx, removals)


def _neighbours(store: Store, gone: Mapping[int, int]) -> list[list[int]]:
    """Runs of blocks that are worth joining."""
    runs: list[list[int]] = [[]]
    worth: set[int] = set()
    small = _ON_THE_WAY / 2
    for number, sizes in store.log.sizes():
        if 2 * gone.get(number, 0) > len(sizes):
            worth.add(number)
        elif len(sizes) >= small * BLOCK_DOCS or sizes.sum() >= small * BLOCK_BYTES:
            runs.append([])
            continue
        runs[-1].append(number)
    return [run for run in runs if len(run) > 1 or worth.intersection(run)]


def _groups(
    blocks: Iterable[Numbered], most: float = 1, stays: Callable[[Numbered], bool] = lambda _: False
) -> Iterator[list[Numbered]]:
    """Join neighbours into groups that fill one block.  A block that stays ends the group."""
    group: list[Numbered] = []
    for each in blocks:
        is_apart = stays(each)
        if group and (is_apart or _size([*group, each]) > most or group[0][1].given != each[1].given):
            yield group
            group = []
        if not is_apart:
            group.append(each)
    if group:
        yield group


def _put(store: Store, group: list[Numbered], tx: int, label_ids: Sequence[int] | None = None) -> list[int]:
    """Put one block in the place of several, and return their numbers; label k becomes label_ids[k]."""
    numbers = [number for number, _ in group]
    _delete(store, numbers)
    joined = _join_blocks([block for _, block in group])
    if label_ids is not None:
        label_sets = [sorted(label_ids[label] for label in labels) for labels in joined.label_sets]
        if any(labels[0] < 0 for labels in label_sets):
            raise store.unpacker().damaged("the log has documents of a label that the counts do not have")
        joined = joined._replace(label_sets=label_sets)
    insert_block(store.db, tx, joined.row(), numbers[0])
    return numbers


def _delete(store: Store, numbers: Iterable[int]) -> None:
    store.db.executemany("DELETE FROM documents WHERE block = ?", [(number,) for number in numbers])


def _size(blocks: Sequence[Numbered]) -> float:
    """How much of one block they would fill."""
    return max(
        sum(block.n_docs for _, block in blocks) / BLOCK_DOCS,
        sum(len(block.text) for _, block in blocks) / BLOCK_BYTES,
    )


def _join_blocks(blocks: Sequence[Block]) -> Block:
    """One block of the documents of several."""
    label_sets: dict[tuple[int, ...], int] = {}  # each once, and its code
    sources: dict[str, int] = {}
    codes, source_codes = [], []
    for block in (each.tidy() for each in blocks):
        sets = [label_sets.setdefault(tuple(labels), len(label_sets)) for labels in block.label_sets]
        codes.append(np.array(sets, np.int64)[block.codes])
        places = [0, *(sources.setdefault(source, len(sources) + 1) for source in block.sources)]
        source_codes.append(np.array(places, np.int64)[block.source_codes])
    sizes = [block.sizes for block in blocks if block.sizes is not None]
    named = any(block.ids is not None for block in blocks)
    return Block(
        times=np.concatenate([block.times for block in blocks]),
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
