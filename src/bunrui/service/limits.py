"""How much at once: what does not fit is told to come again, and what is at work goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, ParamSpec, TypeVar

from bunrui.service.problems import Problem
from bunrui.service.security import Head
from bunrui.service.settings import Limits

__all__ = ["SMALL", "Admission", "Body", "BodyReader", "Gone", "Lane", "Room"]

P = ParamSpec("P")
T = TypeVar("T")
Body = bytes | bytearray

SMALL = 64 << 10
"""Bytes of a body that is read, and answered, without a thread of its own, and has memory of its own."""

# At 6.4 KB/s a body still comes; what stands still ends after ten seconds, and does not hold its memory for 120.
_BODY_SECONDS = 120.0
_PIECE_SECONDS = 10.0
_PIECE = SMALL
_BUDGET = 2  # large bodies of the largest size at a time; small ones fill as much as one of those
_READERS = 2


class Gone(Exception):  # noqa: N818
    """The client has left."""


class Admission:
    """Counts the requests at work.

    Attributes
    ----------
    active : int
        Requests at work.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.active = 0

    def check(self) -> None:
        """Refuse a request while there are too many."""
        if self.active >= self._most:
            raise Problem.busy(f"{self._most:,} requests are at work already")

    async def enter(self) -> None:
        """Count a request.

        The requests that have come in the meantime are let in, or refused, before any of them is answered: else the
        loop would answer one after the other, and never see that they are too many.
        """
        self.check()
        self.active += 1
        await asyncio.sleep(0)

    def leave(self) -> None:
        """A request is done."""
        self.active -= 1


class BodyReader:
    """Reads bodies up to a size, and up to a size of all of them together.

    Small bodies have memory of their own: large ones that stand still keep none of them out.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = {"small": 0, "large": 0}
        self._reading: set[asyncio.Timeout] = set()
        self._is_stopping = False

    @property
    def held(self) -> int:
        """Bytes of bodies that are in memory."""
        return sum(self._held.values())

    async def read(self, head: Head, receive: Callable[[], Awaitable[Any]]) -> Body:
        """The body; what it takes is held until `release`."""
        length = head.get(b"content-length", b"0")
        if not length.isdigit():
            raise Problem("bad-request", "Content-Length is no number")
        if int(length) > self._most:
            raise self._too_large()
        if self._is_stopping:
            raise _stopping()
        body: Body = b""
        since = 0
        now = asyncio.get_running_loop().time
        until = now() + _BODY_SECONDS
        try:
            async with asyncio.timeout(_PIECE_SECONDS) as patience:
                self._reading.add(patience)
                try:
                    while True:
                        message = await receive()
                        if message["type"] == "http.disconnect":
                            raise Gone
                        piece = message.get("body", b"")
                        body = self._joined(body, piece)
                        if not message.get("more_body", False):
                            return body
                        since += len(piece)
                        if since >= _PIECE and not self._is_stopping:
                            since = 0
                            patience.reschedule(min(now() + _PIECE_SECONDS, until))
                finally:
                    self._reading.discard(patience)
        except BaseException as error:
            self.release(len(body))
            if isinstance(error, TimeoutError):
                raise (_stopping() if self._is_stopping else _too_slow()) from None
            raise

    def stop(self) -> None:
        """End what is being read: a request whose body has not come has not begun."""
        self._is_stopping = True
        for patience in self._reading:
            with suppress(RuntimeError):  # it has just run out
                patience.reschedule(asyncio.get_running_loop().time())

    def _joined(self, body: Body, piece: bytes) -> Body:
        size = len(body) + len(piece)
        if size > self._most:
            raise self._too_large()
        pool = _pool(size)
        most = self._most * (_BUDGET if pool == "large" else 1)
        more = len(piece) if pool == _pool(len(body)) else size
        if self._held[pool] + more > most:
            raise Problem.busy("the bodies of other requests fill the memory that there is for them")
        self.release(len(body))
        self._held[pool] += size
        if not body:
            return piece
        # Grows in place: to join the pieces of 64 MB at the end would stop the loop for 20 ms.
        grown = body if isinstance(body, bytearray) else bytearray(body)
        grown += piece
        return grown

    def release(self, n_bytes: int) -> None:
        """A body of so many bytes is no longer held."""
        self._held[_pool(n_bytes)] -= n_bytes

    def _too_large(self) -> Problem:
        return Problem("too-large", f"a body has at most {self._most:,} bytes: send several")


def _pool(n_bytes: int) -> str:
    return "small" if n_bytes <= SMALL else "large"


def _too_slow() -> Problem:
    # Closed, because the rest of the body could not be told from another request.
    return Problem(
        "too-slow",
        f"the body comes too slowly: send {_PIECE:,} bytes every {_PIECE_SECONDS:.0f} seconds, and all of it in "
        f"{_BODY_SECONDS:.0f}",
        headers={"Connection": "close"},
    )


def _stopping() -> Problem:
    return Problem("not-ready", "the service is stopping: send it again when it has started")


class Lane:
    """Threads, and work that waits for them, up to a number.

    `threads` may be another lane, whose threads do this work, too: then each has a number of its own.

    Attributes
    ----------
    pending : int
        Work that waits or is being done.
    """

    def __init__(self, name: str, threads: int | Lane, most: int) -> None:
        self._name = name
        self._threads: ThreadPoolExecutor
        if isinstance(threads, Lane):
            self._most, self._threads = most, threads._threads
        else:
            self._most = most + threads
            self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"bunrui-{name}")
        self.pending = 0

    @property
    def is_full(self) -> bool:
        """Whether no more can wait."""
        return self.pending >= self._most

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do it on a thread."""
        if self.is_full:
            raise Problem.busy(f"too much waits already ({self._name})")
        self.pending += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *args, **kwargs))
        finally:
            self.pending -= 1

    def call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for who is no coroutine, but a thread of another lane."""
        return self._threads.submit(partial(work, *args, **kwargs)).result()

    def close(self) -> None:
        """Wait until all is done."""
        self._threads.shutdown(wait=True)


class Room:
    """All that can be full.

    A service has two: one for those who send the token, and one for strangers, who therefore cannot keep them out.

    Attributes
    ----------
    admission : Admission
    bodies : BodyReader
    readers : Lane
        For work that reads the classifier in memory.
    lookups : Lane
        For work that reads the file, on the thread that writes it.
    """

    def __init__(self, limits: Limits, writer: Lane) -> None:
        self.admission = Admission(limits.requests)
        self.bodies = BodyReader(limits.body)
        self.readers = Lane("read", _READERS, limits.queue)
        self.lookups = Lane("look up", writer, limits.queue)
