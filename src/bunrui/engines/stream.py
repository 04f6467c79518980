"""Read ahead: one thread makes the next batch while the others count this one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

__all__ = ["ahead"]

T = TypeVar("T")

_END: Any = object()


def ahead(batches: Iterable[T], room: int = 2) -> Iterator[T]:
    """The same batches, up to `room` of them made in advance in a thread.

    An error of the source is raised here, after the batches before it; leaving early stops the thread.

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
