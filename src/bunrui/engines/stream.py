"""Batches of documents on their way to a classifier: `ahead` reads the next ones meanwhile."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ahead", "texts_of"]

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
