"""Documents on their way to a classifier: `ahead` reads the next batches, `rank` turns scores into an answer."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from bunrui.errors import DataError, Option

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

T = TypeVar("T")

_END: Any = object()


def ahead(batches: Iterable[T], room: int = 2) -> Iterator[T]:
    """The same batches; a thread makes up to `room` of them in advance.

    An error of the source is raised here, after the batches before it.  If the caller leaves early, the thread stops.

    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    made: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(room)
    stopped = threading.Event()

    def put(item: Any, error: BaseException | None = None) -> bool:
        while not stopped.is_set():
            try:
                made.put((item, error), timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for batch in batches:
                if not put(batch):
                    return
            put(_END)
        except BaseException as error:
            put(_END, error)

    thread = threading.Thread(target=work, name="bunrui-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item, error = made.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        # Not waited for: the source may be blocked, and the thread holds up nobody.
        stopped.set()


def texts_of(batch: pa.RecordBatch) -> Any:
    """The documents: an array of strings, or lists of tokens, or mappings from word to count.

    >>> import pyarrow as pa
    >>> texts_of(pa.record_batch({"text": pa.array([["a", "b"], []])}))
    [['a', 'b'], []]
    >>> texts_of(pa.record_batch({"text": pa.array([[("a", 2)]], pa.map_(pa.string(), pa.int64()))}))
    [{'a': 2}]
    """
    import pyarrow as pa

    texts = batch["text"]
    if pa.types.is_map(texts.type):
        return [dict(pairs) for pairs in texts.to_pylist()]
    if pa.types.is_list(texts.type) or pa.types.is_large_list(texts.type):
        return texts.to_pylist()
    return texts


# --- scores and answers


# Numbers that the scores of the documents that are scored at once take at most.
_MOST_SCORES = 1 << 22


def at_once(n_classes: int) -> int:
    """The number of documents to score at once.

    >>> at_once(2), at_once(10_000_000)
    (2097152, 1)
    """
    return max(1, _MOST_SCORES // max(n_classes, 1))


def slices(texts: Any, n_classes: int, most_bytes: int) -> Iterator[Any]:
    """Texts in parts to score one after the other; a part in Arrow has one text, or at most `most_bytes`."""
    import numpy as np

    from bunrui.analysis.texts import buffers

    most = at_once(n_classes)
    if isinstance(texts, list):
        yield from (texts[k : k + most] for k in range(0, len(texts), most))
        return
    offsets = buffers(texts).offsets
    start = 0
    while start < len(texts):
        fits = int(np.searchsorted(offsets, offsets[start] + most_bytes, side="right")) - 1
        end = min(max(fits, start + 1), start + most, len(texts))
        yield texts[start:end]
        start = end


class Ranking(NamedTuple):
    """The answer of a classifier for some documents; columns are its classes at that moment."""

    classes: list[Any]
    scores: npt.NDArray[np.float64]  # (n_docs, n_classes)
    probabilities: npt.NDArray[np.float64]  # (n_docs, n_classes)
    best: npt.NDArray[np.int64]  # (n_docs,)

    @property
    def confidence(self) -> npt.NDArray[np.float64]:
        """The probability of the best class of each document: (n_docs,)."""
        import numpy as np

        found: npt.NDArray[np.float64] = self.probabilities[np.arange(len(self.best)), self.best]
        return found

    def top(self, n: int) -> npt.NDArray[np.int64]:
        """The best classes of each document, the best first: (n_docs, n)."""
        ranked: npt.NDArray[np.int64] = (-self.scores).argsort(axis=1, kind="stable")[:, :n]
        return ranked


def rank(classifier: Any, texts: Any) -> Ranking:
    """Score documents, and find their best classes.

    >>> from bunrui import TextClassifier
    >>> clf = TextClassifier().learn(["cheap pills", "see you at noon"], ["spam", "ham"])
    >>> ranking = rank(clf, ["pills", "noon"])
    >>> [ranking.classes[k] for k in ranking.best], ranking.top(2).tolist()
    (['spam', 'ham'], [[1, 0], [0, 1]])
    """
    # With the classes of this moment: another thread may learn a new one at any time.
    classes, scores, shares = classifier.scores_and_probabilities(texts)
    return Ranking(classes, scores, shares, scores.argmax(axis=1))


def best_labels(classifier: Any, texts: Any) -> tuple[pa.Array, pa.Array]:
    """The best label of each document and its probability, as Arrow arrays.

    >>> from bunrui import TextClassifier
    >>> clf = TextClassifier().learn(["cheap pills", "see you at noon"], ["spam", "ham"])
    >>> best_labels(clf, ["pills", "noon"])[0].to_pylist()
    ['spam', 'ham']
    """
    import pyarrow as pa

    classes = classifier.classes_.tolist()
    most, kind = at_once(len(classes)), pa.array(classes[:1]).type
    labels, shares = [pa.array([], kind)], [pa.array([], pa.float64())]
    for start in range(0, len(texts), most):
        ranking = rank(classifier, texts[start : start + most])
        labels.append(pa.array([ranking.classes[column] for column in ranking.best.tolist()], kind))
        shares.append(pa.array(ranking.confidence))
    return pa.concat_arrays(labels), pa.concat_arrays(shares)


def annotate(classifier: Any, batch: Any, text: str) -> Any:
    """The columns `predicted` and `probability` for a batch of rows; a table is returned with these columns."""
    import pyarrow as pa

    from bunrui.analysis.texts import is_given, strings

    is_arrow = isinstance(batch, (pa.Table, pa.RecordBatch))
    is_polars, is_pandas = hasattr(batch, "with_columns"), hasattr(batch, "assign")
    columns = list(batch.schema.names if is_arrow else batch.columns if is_polars else batch)
    if text not in columns:
        there = ", ".join(map(repr, columns))
        raise DataError(f"the batch has no column {text!r}, only {there}", hint=("name another with ", Option("text")))
    texts = batch[text]
    if isinstance(texts, str):
        raise DataError("this is one row, and rows are read in batches: call map with batched=True")
    labels, shares = best_labels(classifier, texts if is_given(texts) else strings(texts))
    if is_polars:
        series = type(texts)
        return batch.with_columns(series("predicted", labels), series("probability", shares))
    if is_pandas:
        # Not a series: its index is not that of the batch.
        return batch.assign(predicted=labels.to_pandas().array, probability=shares.to_pandas().array)
    if not is_arrow:
        return {"predicted": labels.to_pylist(), "probability": shares.to_pylist()}
    batch = batch.drop_columns([name for name in ("predicted", "probability") if name in columns])
    return batch.append_column("predicted", labels).append_column("probability", shares)
