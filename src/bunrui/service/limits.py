"""How much at once: what does not fit is told to come again, and what is at work goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from bunrui.service.problems import Problem
from bunrui.service.security import Head

__all__ = ["Admission", "Body", "BodyReader", "Gone", "Lane"]

P = ParamSpec("P")
T = TypeVar("T")
Body = bytes | bytearray

_BODY_SECONDS = 120.0
_BUDGET = 4  # bodies of the largest size at a time


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

    Attributes
    ----------
    held : int
        Bytes of bodies that are in memory.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.held = 0

    async def read(self, head: Head, receive: Callable[[], Awaitable[Any]]) -> Body:
        """The body; what it takes is held until `release`."""
        length = head.get(b"content-length", b"0")
        if not length.isdigit():
            raise Problem("bad-request", "Content-Length is no number")
        if int(length) > self._most:
            raise self._too_large()
        body: Body = b""
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Gone
                    body = self._joined(body, message.get("body", b""))
                    if not message.get("more_body", False):
                        return body
        except BaseException as error:
            self.release(len(body))
            if isinstance(error, TimeoutError):
                raise Problem("too-slow", f"the body did not come in {_BODY_SECONDS:.0f} seconds") from None
            raise

    def _joined(self, body: Body, piece: bytes) -> Body:
        if len(body) + len(piece) > self._most:
            raise self._too_large()
        if self.held + len(piece) > _BUDGET * self._most:
            raise Problem.busy("the bodies of other requests fill the memory that there is for them")
        self.held += len(piece)
        if not body:
            return piece
        # Grows in place: to join the pieces of 64 MB at the end would stop the loop for 20 ms.
        grown = body if isinstance(body, bytearray) else bytearray(body)
        grown += piece
        return grown

    def release(self, n_bytes: int) -> None:
        """Bytes that are no longer held."""
        self.held -= n_bytes

    def _too_large(self) -> Problem:
        return Problem("too-large", f"a body has at most {self._most:,} bytes: send several")


class Lane:
    """Threads, and work that waits for them, up to a number.

    Attributes
    ----------
    pending : int
        Work that waits or is being done.
    """

    def __init__(self, name: str, threads: int, most: int) -> None:
        self._name = name
        self._most = most + threads
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"bunrui-{name}")
        self.pending = 0

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do it on a thread."""
        if self.pending >= self._most:
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
