"""The files of a corpus → its splits, as Parquet.

SPLIT.parquet              label and text, or the columns of a table
SPLIT-unlabelled.parquet   documents without a label, where the split has some
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from bunrui.datasets import cache
from bunrui.datasets.archives import Member, members
from bunrui.datasets.download import Report
from bunrui.datasets.registry import Corpus
from bunrui.documents.reading import Progress
from bunrui.errors import DataError

__all__ = ["UNLABELLED", "is_ready", "read_splits", "write_splits"]

UNLABELLED = "-unlabelled"
"""The end of the name of a split's documents without a label."""

_STEP = 500  # members between two reports
_FEW_NAMES = 3  # of members, in a message


def is_ready(corpus: Corpus, home: Path) -> bool:
    """Whether all splits are in a folder."""
    return all((home / f"{split}.parquet").is_file() for split in corpus.splits)


def read_splits(
    corpus: Corpus, files: list[Path], report: Report | None, notice: Callable[[str], None]
) -> Mapping[str, pa.Table]:
    """Read the publisher's files, or a copy of them.

    Parameters
    ----------
    corpus : Corpus
    files : list of Path
        Archives, folders or plain files.
    report : callable or None
        Called with what is being done, and how many bytes of how many are done.
    notice : callable
        Called with a number of documents that is not the expected one.

    Returns
    -------
    mapping of str to pyarrow.Table
        All of the corpus' splits, in their order.

    Raises
    ------
    DataError
        If documents of a split are not there.
    """
    names: list[str] = []
    tables = corpus.read(_noted(_all(files, report), names))
    if missing := [split for split in corpus.splits if split not in tables]:
        raise _lacking(corpus, files, missing, names)
    for split in corpus.splits:
        found, expected = tables[split].num_rows, corpus.rows.get(split, tables[split].num_rows)
        if found != expected:
            notice(f"{corpus.name}, {split}: {found:,} documents, where the official corpus has {expected:,}")
    return {split: tables[split] for split in corpus.splits}


def _noted(found: Iterator[Member], names: list[str]) -> Iterator[Member]:
    """The same members, with the first names of them put into a list."""
    for member in found:
        if len(names) <= _FEW_NAMES:
            names.append("/".join(member.parts))
        yield member


def _lacking(corpus: Corpus, files: list[Path], missing: list[str], names: list[str]) -> DataError:
    """The error of files without documents of some splits."""
    where = ", ".join(map(str, files))
    what = corpus.name if corpus.splits == ("all",) else f"{corpus.name} ({', '.join(missing)})"
    holds = ", ".join(names[:_FEW_NAMES]) + (" …" if len(names) > _FEW_NAMES else "")
    if not holds:
        holds = ", which is empty"
    elif [file.name for file in files] == names:  # plain files
        holds = ""
    else:
        holds = f", which holds {holds}"
    return DataError(f"there are no documents of {what} in {where}{holds}: expected is {corpus.expected}")


def _all(files: list[Path], report: Report | None) -> Iterator[Member]:
    progress = Progress()
    total = sum(file.stat().st_size for file in files if file.is_file()) or None
    n_members = 0
    for file in files:
        for member in members(file, progress):
            yield member
            n_members += 1
            if report is not None and n_members % _STEP == 0:
                report("reading", progress.bytes_read, total)


def write_splits(corpus: Corpus, tables: Mapping[str, pa.Table], home: Path) -> None:
    """Write all splits under other names, and only then under their own."""
    import pyarrow.parquet as pq

    written: dict[Path, Path] = {}
    try:
        with cache.writing(home):
            for name, table in _parts(tables):
                final = home / f"{name}.parquet"
                written[final] = home / f".{final.name}.{os.getpid()}"
                pq.write_table(table, written[final], compression="zstd")
            for split in corpus.splits:
                (home / f"{split}{UNLABELLED}.parquet").unlink(missing_ok=True)
            for final, temporary in written.items():
                os.replace(temporary, final)
    finally:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)


def _parts(tables: Mapping[str, pa.Table]) -> Iterator[tuple[str, Any]]:
    """Tables by the names of their files; documents without a label, which no classifier takes, have their own."""
    import pyarrow.compute as pc

    for split, table in tables.items():
        if pa.types.is_list(table["label"].type):
            is_labelled = pc.greater(pc.list_value_length(table["label"]), 0)
            unlabelled = table.filter(pc.invert(is_labelled))
            if unlabelled.num_rows:
                yield f"{split}{UNLABELLED}", unlabelled
            table = table.filter(is_labelled)
        yield split, table
