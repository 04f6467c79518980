"""Documents as commands meet them: on the standard input, in batches, in the log of a file; and their labels.

The standard input is read without its buffer: a thread that waits inside a buffer keeps Python from ending.  A few
plain lines, as in `echo "free pills" | bunrui predict mail.bunrui`, need nothing of `bunrui.documents`: its import
takes 50 ms, and the first Arrow array 170 ms more where pandas is installed, which pyarrow imports then.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import bunrui
from bunrui.cli.console import say
from bunrui.errors import BunruiError, OptionError, StoreError, UnlearnError
from bunrui.labels import type_of

if TYPE_CHECKING:
    import pyarrow as pa

    from bunrui.classifier import AnyClassifier
    from bunrui.cli.options import Chosen


_FEW_BYTES = 1 << 16
DIGITS = 32  # of the digest of a document


# The beginning of other formats, and of lines that take more than splitting.
_NOT_PLAIN = re.compile(
    rb"\s*(?:\{|__label__)|[^\n]*text|From |[A-Za-z][\w-]*: |PAR1|ARROW1|BZh|[\x1f\x28\xef\xfd\xff]"
).match


class Stdin:
    """The standard input, as a source of `bunrui.documents.read`."""

    name = "<stdin>"

    def __init__(self) -> None:
        self._head = b""

    def read(self, n_bytes: int) -> bytes:
        """At most `n_bytes`; none at the end."""
        if self._head:
            data, self._head = self._head[:n_bytes], self._head[n_bytes:]
            return data
        return _read(n_bytes)

    def is_empty(self) -> bool:
        """Whether there is nothing left to be read; waits until that is known."""
        self._head = self._head or _read(_FEW_BYTES)
        return not self._head

    def few_lines(self) -> list[str] | None:
        """All of the input if it is a few plain lines; else None, and `read` starts at the beginning."""
        while part := _read(_FEW_BYTES):
            self._head += part
            if len(self._head) > _FEW_BYTES:
                return None
        if not self._head or b"\r" in self._head or _NOT_PLAIN(self._head):
            return None
        try:
            return self._head.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            return None


def _read(n_bytes: int) -> bytes:
    stream: Any = sys.stdin.buffer
    data: bytes = getattr(stream, "raw", stream).read(n_bytes)
    return data


def labels_in(batch: pa.RecordBatch) -> set[Any]:
    """The labels that occur.

    >>> import pyarrow as pa
    >>> sorted(labels_in(pa.record_batch({"label": ["x", "y", "x"]})))
    ['x', 'y']
    >>> sorted(labels_in(pa.record_batch({"label": [["x", "z"], ["x"]]})))
    ['x', 'z']
    """
    import pyarrow as pa

    labels = batch["label"]
    if pa.types.is_list(labels.type) or pa.types.is_large_list(labels.type):
        labels = labels.flatten()
    return set(labels.unique().to_pylist())


def several_in(batch: pa.RecordBatch) -> int:
    """How many documents have several labels."""
    return sum(len(row) > 1 for row in batch["label"].to_pylist() if isinstance(row, list))


@contextmanager
def locate_errors(batch: pa.RecordBatch | None) -> Iterator[None]:
    """A block in which errors about a row of a batch say where the row comes from."""
    try:
        yield
    except BunruiError as error:
        if batch is not None and error.row is not None:
            error.file, error.line = batch["source"][error.row].as_py(), batch["line"][error.row].as_py()
        error.row = None
        raise


def require(classifier: bunrui.StoredClassifier, keep: str, otherwise: str) -> None:
    """Refuse a file that keeps less of its documents, and say what to do otherwise."""
    from bunrui.store.store import KEEPS

    if KEEPS.index(classifier.keep) >= KEEPS.index(keep):
        return
    if classifier.keep == "nothing":
        raise StoreError(f"{classifier.path} keeps nothing of its documents: {otherwise}")
    raise StoreError(
        f"{classifier.path} keeps digests, but no texts, so that the words of its documents are not known: {otherwise}"
    )


def find_chosen(classifier: bunrui.StoredClassifier, chosen: Chosen) -> dict[str, Any]:
    """The documents that were named on the command line, as the classifier takes them."""
    if chosen.by_id:
        return {"ids": list(chosen.by_id)}
    return {"digests": _complete_digests(classifier, [digest.lower() for digest in chosen.by_digest or []])}


def _complete_digests(classifier: bunrui.StoredClassifier, given: list[str]) -> list[str]:
    """Whole digests; users may give the first digits, which `bunrui log` shows on a terminal."""
    for digest in given:
        if not re.fullmatch(f"[0-9a-f]{{4,{DIGITS}}}", digest):
            raise OptionError(
                f"--by-digest takes {DIGITS} hexadecimal digits, or the first of them, at least 4, not {digest!r}: "
                f"'bunrui log {classifier.path} --documents' lists them."
            )
    if all(len(digest) == DIGITS for digest in given):
        return given
    known = {document.digest for document in classifier.documents() if document.digest.startswith(tuple(given))}
    found = {digest: [whole for whole in known if whole.startswith(digest)] for digest in given}
    for digest, whole in found.items():
        if not whole:
            missing = UnlearnError(f"no document that is learned has a digest that begins with {digest!r}")
            raise point_to_log(classifier, missing)
        if len(whole) > 1:
            raise UnlearnError(f"{len(whole)} texts have digests that begin with {digest!r}: give more digits")
    return [whole[0] for whole in found.values()]


def point_to_log(classifier: bunrui.StoredClassifier, error: Exception) -> Exception:
    """The error of an unknown document, with the command that lists the known ones."""
    return type(error)(f"{error}: 'bunrui log {classifier.path} --documents' lists those that are there")


_MOST_LABELS = 5000  # that are looked through for one that is like another
_MOST_GROUPS = 3


def say_alike(labels: Collection[Any]) -> None:
    """Warn of labels that people take for one.

    >>> import contextlib, sys
    >>> with contextlib.redirect_stderr(sys.stdout):
    ...     say_alike(["spam", "ham", "spam\\u3000", " spam"])
    warning: the labels 'spam', 'spam\\u3000' and ' spam' differ only in spaces: 'bunrui label move' makes one of two
    """
    groups: dict[str, list[str]] = defaultdict(list)
    if len(labels) <= _MOST_LABELS and type_of(labels) is str:
        for label in labels:
            groups[" ".join(label.split())].append(label)
    alike = [group for group in groups.values() if len(group) > 1]
    for *others, last in alike[:_MOST_GROUPS]:
        names = f"{', '.join(map(repr, others))} and {last!r}"
        say(f"warning: the labels {names} differ only in spaces: 'bunrui label move' makes one of two")
    if len(alike) > _MOST_GROUPS:
        say(f"warning: {len(alike) - _MOST_GROUPS:,} more groups of labels differ only in spaces")


def say_new(given: Iterable[Any], known: Collection[Any]) -> None:
    """Say which labels are new, and which known label is nearly the same.

    >>> import contextlib, sys
    >>> with contextlib.redirect_stderr(sys.stdout):
    ...     say_new(["spam", "hamm", "news"], ["ham", "spam"])
    'hamm' is a new label: did you mean 'ham'? 'bunrui undo' takes this back
    'news' is a new label
    """
    for label in given:
        if label not in known:
            is_like = isinstance(label, str) and len(known) <= _MOST_LABELS
            near = get_close_matches(label, known, n=1) if is_like else []
            meant = f": did you mean {near[0]!r}? 'bunrui undo' takes this back" if near else ""
            say(f"{label!r} is a new label{meant}")


def reads_tables(classifier: AnyClassifier) -> bool:
    """Whether a classifier is one of tables."""
    return bool(getattr(classifier.analyzer, "name", classifier.analyzer) == "columns")
