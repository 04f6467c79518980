"""`create` and `open`: the way to a classifier in a file."""

from __future__ import annotations

import os
from typing import Any

from bunrui.classifier import TextClassifier
from bunrui.errors import OptionError
from bunrui.models import DEFAULT_MODEL
from bunrui.store import KEEPS, Store
from bunrui.stored.classifier import Path, StoredClassifier
from bunrui.stored.options import new_store

__all__ = ["create", "open"]


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
    if keep not in KEEPS:
        raise OptionError(f"keep should be one of {', '.join(reversed(KEEPS))}, not {keep!r}")
    return StoredClassifier(new_store(os.fspath(path), TextClassifier(model, **options), keep))


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
