"""Copies of a file that keep nothing but counts, and of those perhaps not all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

from bunrui.classifier import TextClassifier
from bunrui.errors import OptionError
from bunrui.store import Transaction, unpublished
from bunrui.stored.options import new_store
from bunrui.trained.names import is_trained

__all__ = ["check_slim", "write_slim"]


def check_slim(classifier: TextClassifier, min_df: Any) -> None:
    """Refuse what cannot be."""
    if isinstance(min_df, bool) or not isinstance(min_df, int) or min_df < 1:
        raise OptionError(option="min_df", value=min_df, expected="a whole number above 0")
    if is_trained(classifier.model):
        raise OptionError(
            f"{classifier.model} is trained from documents, and a slim copy keeps none: choose a model that reads "
            "counts first, with `bunrui set` or configure(model=...)"
        )


def write_slim(name: str, like: TextClassifier, pruned: int, min_df: int, fill: Callable[[Transaction], int]) -> None:
    """Make the copy; `fill` writes its counts, and says of how many documents they are.

    `like` has the options, and `pruned` is what was left out before.
    """
    with unpublished(name) as temporary:
        store = new_store(temporary, like, "nothing", max(min_df, pruned), name)
        with closing(store), store.writing():
            transaction = store.transaction("slim")
            transaction.n_docs = fill(transaction)
            transaction.finish()
            if like.calibration is not None and min_df <= like.min_df:  # else the copy is another model
                known = replace(like.calibration, tx=transaction.number).to_dict()
                store.save_settings(store.settings() | {"calibration": known})
