"""Documents as commands meet them: on the standard input, in batches, in the log of a file; and their labels.

The standard input is read without its buffer: a thread that waits inside a buffer keeps Python from ending.  A few
plain lines, as in `echo "free pills" | bunrui predict mail.bunrui`, need nothing of `bunrui.documents`: its import
takes 50 ms, and the first Arrow array 170 ms more where pandas is installed, which pyarrow imports then.
"""

from __future__ import annotations

import re
import select
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import bunrui
from bunrui.cli.console import Bar, say, say_reading
from bunrui.engines.stream import texts_of
from bunrui.errors import BunruiError, DataError, OptionError, StoreError, UnlearnError
from bunrui.labels import type_of
from bunrui.phrases import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from bunrui.classifier import AnyClassifier
    from bunrui.cli.options import Analysis, Chosen, LabelledDocuments, Model
    from bunrui.store.log import Seen


_FEW_BYTES = 1 << 16
_SOON = 0.05  # seconds that `echo` may take to end
DIGITS = 32  # of the digest of a document


# The beginning of other formats, and of lines that take more than splitting.
_NOT_PLAIN = re.compile(
    rb"\s*(?:\{|__label__)|[^\n]*text|From |[A-Za-z][\w-]*: |PAR1|ARROW1|BZh|[\x1f\x28\xef\xfd\xff]"
).match


class Stdin:
    """The standard input, as a source of `bunrui.documents.read`; with `is_live`, it is read as its bytes arrive."""

    name = "<stdin>"

    def __init__(self, *, is_live: bool = False) -> None:
        self._head = b""
        self.has_more = self._has_more if is_live else None

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
        """All of the input if it is a few plain lines; else None, and `read` starts at the beginning.

        A pipe that stays open and has no more for now is not waited for.
        """
        while part := _read(_FEW_BYTES):
            self._head += part
            if len(self._head) > _FEW_BYTES or _NOT_PLAIN(self._head) or not _is_ready(_SOON):
                return None
        if not self._head or b"\r" in self._head or _NOT_PLAIN(self._head):
            return None
        try:
            return self._head.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            return None

    def _has_more(self) -> bool:
        """Whether reading would not wait."""
        return bool(self._head) or _is_ready(0)


def _is_ready(seconds: float) -> bool:
    """Whether the standard input has bytes, or is at its end, within some time; also where that cannot be told."""
    try:
        return bool(select.select([sys.stdin.fileno()], [], [], seconds)[0])
    except (OSError, ValueError):  # no file, or a pipe on Windows
        return True


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

    if KEEPS.index(classifier.keep) < KEEPS.index(keep):
        raise StoreError(f"{classifier.path} keeps {classifier.keep} of its documents: {otherwise}")


def find_chosen(classifier: bunrui.StoredClassifier, chosen: Chosen) -> dict[str, Any]:
    """The documents that were named on the command line, as the classifier takes them.

    Users may give the first digits of a digest, which `bunrui log` shows on a terminal.
    """
    if chosen.by_id:
        return {"ids": list(chosen.by_id)}
    given = [digest.lower() for digest in chosen.by_digest or []]
    for digest in given:
        if not re.fullmatch(f"[0-9a-f]{{4,{DIGITS}}}", digest):
            digits = f"4 to {DIGITS} hexadecimal digits, as 'bunrui log --documents' has them"
            raise OptionError(f"--by-digest takes {digits}, not {digest!r}.")
    if all(len(digest) == DIGITS for digest in given):
        return {"digests": given}
    known = {document.digest for document in classifier.documents() if document.digest.startswith(tuple(given))}
    found = {digest: [whole for whole in known if whole.startswith(digest)] for digest in given}
    for digest, whole in found.items():
        if not whole:
            missing = UnlearnError(f"no document that is learned has a digest that begins with {digest!r}")
            raise point_to_log(classifier, missing)
        if len(whole) > 1:
            raise UnlearnError(f"{len(whole)} texts have digests that begin with {digest!r}: give more digits")
    return {"digests": [whole[0] for whole in found.values()]}


def point_to_log(classifier: bunrui.StoredClassifier, error: Exception) -> Exception:
    """The error of an unknown document, with the command that lists the known ones."""
    return type(error)(f"{error}: 'bunrui log {classifier.path} --documents' lists those that are there")


_MOST_LABELS = 5000  # that are looked through for one that is like another
_MOST_GROUPS = 3


def say_alike(labels: Sequence[Any]) -> None:
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


def say_new(given: Iterable[Any], known: Sequence[Any]) -> None:
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


# --- documents that predict each other

_SQLITE = b"SQLite format 3\0"


class Collection(NamedTuple):
    """Documents in memory, and a classifier with the right options, which has not learned them yet."""

    texts: Any
    labels: list[Any]  # a label, or a list of labels
    sources: list[str | None]
    ids: list[str | None]
    classifier: AnyClassifier
    lines: list[int | None]


def is_classifier(path: str) -> bool:
    """Whether a file is a classifier."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def collect(
    data: list[str],
    documents: LabelledDocuments,
    model: Model,
    analysis: Analysis,
    check: Callable[[AnyClassifier], None] = lambda classifier: None,
    label_type: type | None = None,
) -> Collection:
    """The documents of files, or of a classifier that keeps texts; `check` sees the classifier before they are read.

    The labels of files get `label_type`; without it, the type of the first label.
    """
    if is_classifier(data[0]):
        if len(data) > 1:
            raise OptionError(f"{data[0]} is a classifier, and its own documents are read: give it, or DATA, not both.")
        if analysis.given() or documents != type(documents)():
            raise OptionError(f"{data[0]} is a classifier: its documents are read as they were learned.")
        return _kept(data[0], model, check)

    classifier = bunrui.TextClassifier(analyzer=bunrui.AnalyzerSpec(**analysis.given()), **model.given())
    check(classifier)
    reader = documents.read(data, labelled=True, label_type=label_type)
    rows = read_all(reader, "done")
    say_reading(reader)
    return Collection(rows["text"], rows["label"], rows["source"], rows["id"], classifier, rows["line"])


def _kept(path: str, model: Model, check: Callable[[AnyClassifier], None]) -> Collection:
    from bunrui.evaluation.loo import kept_documents

    with bunrui.open(path, read_only=True) as opened:
        require(opened, "text", "they can predict each other only with texts")
        model.check(opened)
        classifier = bunrui.TextClassifier(**opened.with_model(**model.given()).get_params())
        check(classifier)
        classifier.set_calibration(opened.calibration)
        if opened.pool_weight is not None and opened.pool_weight.weight:
            say(f"measured without the texts that have no label; 'bunrui info {path}' tells how much they help")
        rows = kept_documents(opened)
    if not rows:
        raise DataError("there are no documents to be read: nothing was done")
    labels = [row.labels[0] if len(row.labels) == 1 else row.labels for row in rows]
    texts, sources, ids = ([getattr(row, name) for row in rows] for name in ("text", "source", "id"))
    return Collection(texts, labels, sources, ids, classifier, [None] * len(rows))


def read_all(reader: bunrui.documents.Reader, done: str) -> dict[str, list[Any]]:
    """All documents of a reader, by column; `done` ends the error if there are none: nothing was …"""
    columns: dict[str, list[Any]] = defaultdict(list)
    bar = Bar(reader)
    for batch in bar:
        texts = texts_of(batch)
        columns["text"] += texts if isinstance(texts, list) else texts.to_pylist()
        for name in ("label", "source", "id", "line"):
            columns[name] += batch[name].to_pylist() if name in batch.schema.names else [None] * batch.num_rows
    bar.check(done)
    return columns


def say_duplicates(found: Collection) -> int | None:
    """Say how many documents are copies of others, or nearly: they make the result look better than it is."""
    texts = found.texts
    if not isinstance(texts[0], str):
        return None

    is_table = reads_tables(found.classifier)
    n_extra = bunrui.evaluation.find_duplicates(texts, near=not is_table).n_extra
    if n_extra:
        copies, share = "copies" if is_table else "copies or near copies", f"{n_extra / len(texts):.1%}"
        has_ids = any(id is not None for id in found.ids)
        then = "; --folds 5 --by id keeps together what has the same id" if has_ids else ""
        say(f"{copies} of other documents, {n_extra:,} of {len(texts):,} ({share}), make the result look better{then}")
    return n_extra


def _keys(texts: Any) -> Any:
    from bunrui.memory import document_digests, key_words

    return key_words(document_digests(texts))


class LearnedBefore:
    """Counts the test documents that were learned."""

    def __init__(self, seen: Seen | None) -> None:
        self._seen = seen
        self._n_docs = self._n_learned = 0

    @classmethod
    def into(cls, path: str) -> LearnedBefore:
        """Count the test documents that a file has learned, if the file keeps enough to tell."""
        from bunrui.store.file import find_seen
        from bunrui.store.store import Store

        with closing(Store.open(path, read_only=True)) as store, store.reading():
            return cls(find_seen(store, needed=False))

    @classmethod
    def of(cls, texts: Any) -> LearnedBefore:
        """Count the test documents that are among some texts."""
        from bunrui.store.log import Seen

        return cls(Seen(_keys(texts)))

    def add(self, texts: Any) -> None:
        """Count some test documents."""
        if self._seen is not None and len(self._seen):
            self._n_docs += len(texts)
            self._n_learned += int(self._seen.has(_keys(texts)).sum())

    def say(self, name: str) -> None:
        """Say how many there were; `name` is what has learned them."""
        if self._n_learned:
            n, tested = self._n_learned, counted(self._n_docs, "test document")
            say(f"warning: {name} has learned {n:,} of {tested}: the result looks better than it is")
