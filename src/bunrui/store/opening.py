"""`create` and `open`: the way to a classifier in a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bunrui.classifier import TextClassifier
from bunrui.errors import OptionError
from bunrui.models import DEFAULT_MODEL
from bunrui.store.classifier import Path, StoredClassifier
from bunrui.store.creation import unpublished
from bunrui.store.settings import new_store
from bunrui.store.store import KEEPS, Store
from bunrui.store.training import check_keeps

__all__ = ["checked", "create", "creating", "open"]


def create(path: Path, model: str = DEFAULT_MODEL, *, keep: str = "text", **options: Any) -> StoredClassifier:
    """Make a classifier in a new file.

    Parameters
    ----------
    path : path
        Of a file that is not there yet.
    model, **options
        As for `TextClassifier`; the analyzer is a name or a spec.
    keep : {"text", "digests", "nothing"}
        What the file keeps of the documents besides their counts.  With `text` they can be listed, checked and counted
        anew by another analyzer; with `digests` only what was learned can be unlearned; with `nothing` the file is
        smallest.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "mail.bunrui")
    >>> with create(path) as clf:
    ...     clf.learn(["cheap pills now", "meeting at noon"], ["spam", "ham"])
    StoredClassifier('mail.bunrui', 2 documents, 2 classes, 10 features)
    >>> with open(path) as clf:
    ...     print(clf.predict(["pills?"])[0])
    spam
    """
    name = os.fspath(path)
    plain = checked(name, model, keep, options)
    with unpublished(name) as temporary:
        new_store(temporary, plain, keep, name=name).close()
    return open(name)


@contextmanager
def creating(
    path: Path, model: str = DEFAULT_MODEL, *, keep: str = "text", **options: Any
) -> Iterator[StoredClassifier]:
    """A new classifier that appears under its name when the block ends without an error, with all that it learned."""
    name = os.fspath(path)
    plain = checked(name, model, keep, options)
    with unpublished(name) as temporary, StoredClassifier(new_store(temporary, plain, keep, name=name)) as classifier:
        yield classifier


def checked(name: str, model: str, keep: str, options: dict[str, Any]) -> TextClassifier:
    if keep not in KEEPS:
        raise OptionError(f"keep should be one of {', '.join(reversed(KEEPS))}, not {keep!r}")
    check_keeps(model, keep, name)
    return TextClassifier(model, **options)


def open(path: Path, *, read_only: bool = False) -> StoredClassifier:
    """Open the classifier in a file.

    Raises
    ------
    StoreError
        If there is none, or it cannot be read.
    """
    store = Store.open(os.fspath(path), read_only=read_only)
    try:
        return StoredClassifier(store, read_only=read_only)
    except BaseException:
        store.close()
        raise
