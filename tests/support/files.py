"""Looking into a classifier's file from outside, and changing it behind the classifier's back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from bunrui.store.log import Block
from bunrui.store.schema import connect
from bunrui.store.store import Store


def sql(path: str | os.PathLike[str], statement: str, *values: Any) -> list[Any]:
    """Run a statement on a file; its rows."""
    with closing(connect(os.fspath(path), read_only=False)) as db:
        return db.execute(statement, values).fetchall()


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Store]:
    """A store of its own for a file that others may use."""
    with closing(Store.open(os.fspath(path), read_only=True)) as store:
        yield store


def blocks(path: str | os.PathLike[str]) -> list[Block]:
    """The documents of a file, as the log keeps them."""
    with opened(path) as store:
        return [block for _, block in store.log.blocks()]
