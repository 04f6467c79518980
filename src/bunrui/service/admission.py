"""Who may send requests, and how many at once.

Every web page that a user opens can reach a service on the user's machine.  So the header Host must name the service
(else a foreign name that points to 127.0.0.1 would do), an Origin must be its own, bodies must have a type that no form
can send, and a client that writes must have the token.

Requests beyond the limits are refused with 503, and those at work go on.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, ParamSpec, TypeVar
from urllib.parse import unquote

from bunrui.service import Limits, Settings
from bunrui.service.errors import Problem
from bunrui.service.spool import Folder

P = ParamSpec("P")
T = TypeVar("T")
Body = bytes | bytearray
Receive = Callable[[], Awaitable[Any]]

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
BYTES = "application/octet-stream"

Head = dict[bytes, bytes]

HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"base-uri 'none'; frame-ancestors 'none'; form-action 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
"""Sent with every answer."""

_SINGLE = frozenset(
    (b"host", b"origin", b"authorization", b"content-type", b"content-length", b"content-encoding", b"accept")
)
_METHODS = b"GET, POST, DELETE"


def head_of(headers: Iterable[tuple[bytes, bytes]]) -> Head:
    """Headers by name; what decides about a request may stand there once only.

    >>> head_of([(b"host", b"a"), (b"cookie", b"x"), (b"cookie", b"y")])
    {b'host': b'a', b'cookie': b'y'}
    """
    head: Head = {}
    for name, value in headers:
        if name in head and name in _SINGLE:
            raise Problem("bad-request", f"the header {name.decode('latin-1')} comes twice: send it once")
        head[name] = value
    return head


def media_type(head: Head, name: bytes = b"content-type") -> str:
    """The type of a body, without parameters.

    >>> media_type({b"content-type": b"Application/JSON; charset=utf-8"})
    'application/json'
    """
    return head.get(name, b"").partition(b";")[0].strip().lower().decode("latin-1")


def author_of(head: Head) -> str | None:
    """Who sends a request, as far as it says so: the header has UTF-8, percent-encoded.

    >>> author_of({b"bunrui-author": b"%E7%8C%AB"}), author_of({})
    ('猫', None)
    """
    return unquote(head.get(b"bunrui-author", b"").decode("latin-1")) or None


class Security:
    """The checks of one service."""

    def __init__(self, settings: Settings) -> None:
        self._names = frozenset(name.encode() for name in settings.names)
        self._origins = frozenset(origin.encode() for origin in settings.origins)
        self._token = None if settings.token is None else settings.token.encode()

    def check_origin(self, head: Head) -> None:
        """Refuse what came by another name, and from the page of another site."""
        host = head.get(b"host", b"").lower()
        if host not in self._names:
            said = f"{host.decode('latin-1')!r} is no name of this service: ask for it by the address that it printed"
            raise Problem("wrong-host", f"{said}, or start it with --name")
        origin = head.get(b"origin")
        if origin is None or origin in self._origins:
            return
        if origin.lower().partition(b"://")[2] != host:
            said = f"pages of {origin.decode('latin-1')!r} may not ask: start the service with --cors to let them"
            raise Problem("foreign-origin", said)

    def check_token(self, head: Head) -> None:
        """Refuse to write for who does not know the token."""
        if self._token is None:
            raise Problem("read-only", "this service only reads: start it with --token to let it learn")
        if self.is_owner(head):
            return
        what = "is wrong" if _credentials(head)[1] else "is missing"
        said = f"the token {what}: send 'Authorization: Bearer …' with the one that the service was started with"
        raise Problem("no-token", said, headers={"WWW-Authenticate": "Bearer"})

    def is_owner(self, head: Head) -> bool:
        """Whether a request comes with the token."""
        scheme, given = _credentials(head)
        return self._token is not None and scheme == b"bearer" and hmac.compare_digest(given, self._token)

    def check_type(self, head: Head, types: Collection[str]) -> None:
        """Refuse bodies that a form on any page could send, or that are packed."""
        if media_type(head) not in types:
            said = f"a body is {' or '.join(types)}, not {media_type(head)!r}: say so in Content-Type"
            raise Problem("media-type", said, headers={"Accept": ", ".join(types)})
        if head.get(b"content-encoding", b"identity").lower() != b"identity":
            raise Problem("media-type", "a body is not packed: send it without Content-Encoding")

    def cross_origin(self, head: Head) -> list[tuple[bytes, bytes]]:
        """Headers for the pages of other sites that may ask."""
        origin = head.get(b"origin", b"")
        allowed = [(b"access-control-allow-origin", origin)] if origin in self._origins else []
        return [*allowed, (b"vary", b"Origin")] if self._origins else []

    def preflight(self, head: Head) -> list[tuple[bytes, bytes]] | None:
        """The answer to a browser that asks whether a page of another site may ask; None where it does not."""
        if head.get(b"origin") not in self._origins or b"access-control-request-method" not in head:
            return None
        return [
            (b"access-control-allow-methods", _METHODS),
            (b"access-control-allow-headers", b"Authorization, Content-Type, Bunrui-Author"),
            (b"access-control-max-age", b"600"),
        ]


def _credentials(head: Head) -> tuple[bytes, bytes]:
    scheme, _, given = head.get(b"authorization", b"").partition(b" ")
    return scheme.lower(), given.strip()


# --- how much

SMALL = 64 << 10
"""Bytes of a body that is read, and answered, without a thread of its own, and has memory of its own."""

# At 6.4 KB/s a body still comes; what stands still ends after ten seconds, and does not hold its memory for 120.
BODY_SECONDS = 120.0
_PIECE_SECONDS = 10.0
_PIECE = SMALL
_BUDGET = 2  # large bodies of the largest size at a time; small ones fill as much as one of those
_READERS = 2


class Gone(Exception):  # noqa: N818
    """The client has left."""


class BodyReader:
    """Reads bodies up to a size, and up to a size of all of them together.

    Small bodies have their own memory, so that large ones that stand still do not keep them out.
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

    async def read(self, head: Head, receive: Receive) -> Body:
        """The body; what it takes is held until `release`."""
        body = bytearray()  # grows in place: to join the pieces of 64 MB at the end would stop the loop for 20 ms

        def take(piece: bytes) -> None:
            self._hold(len(body), len(body) + len(piece))
            body.extend(piece)

        try:
            await self.pass_on(head, receive, take, self._most, BODY_SECONDS)
        except BaseException:
            self.release(len(body))
            raise
        return body

    async def pass_on(
        self, head: Head, receive: Receive, take: Callable[[bytes], None], most: int, seconds: float
    ) -> None:
        """Have somebody take a body, piece by piece."""
        length = head.get(b"content-length", b"0")
        if not length.isdigit():
            raise Problem("bad-request", "Content-Length is no number")
        if int(length) > most:
            raise _too_large(most)
        if self._is_stopping:
            raise _stopping()
        n_bytes = since = 0
        now = asyncio.get_running_loop().time
        until = now() + seconds
        try:
            async with asyncio.timeout(_PIECE_SECONDS) as patience:
                self._reading.add(patience)
                try:
                    while True:
                        message = await receive()
                        if message["type"] == "http.disconnect":
                            raise Gone
                        piece = message.get("body", b"")
                        n_bytes += len(piece)
                        if n_bytes > most:
                            raise _too_large(most)
                        take(piece)
                        if not message.get("more_body", False):
                            return
                        since += len(piece)
                        if since >= _PIECE and not self._is_stopping:
                            since = 0
                            patience.reschedule(min(now() + _PIECE_SECONDS, until))
                finally:
                    self._reading.discard(patience)
        except TimeoutError:
            if self._is_stopping:
                raise _stopping() from None
            often = f"send {_PIECE:,} bytes every {_PIECE_SECONDS:.0f} seconds, and all of it in {BODY_SECONDS:.0f}"
            # Closed, because the rest of the body could not be told from another request.
            close = {"Connection": "close"}
            raise Problem("too-slow", f"the body comes too slowly: {often}", headers=close) from None

    def stop(self) -> None:
        """End what is being read: a request whose body has not come has not begun."""
        self._is_stopping = True
        for patience in self._reading:
            with suppress(RuntimeError):  # it has just run out
                patience.reschedule(asyncio.get_running_loop().time())

    def _hold(self, before: int, after: int) -> None:
        """Find room for a body that grows."""
        pool = _pool(after)
        most = self._most * (_BUDGET if pool == "large" else 1)
        more = after - before if pool == _pool(before) else after
        if self._held[pool] + more > most:
            raise Problem.busy("the bodies of other requests fill the memory that there is for them")
        self.release(before)
        self._held[pool] += after

    def release(self, n_bytes: int) -> None:
        """A body of so many bytes is no longer held."""
        self._held[_pool(n_bytes)] -= n_bytes


def _too_large(most: int) -> Problem:
    return Problem("too-large", f"a body has at most {most:,} bytes: send several", cause="bytes", most=most)


def _pool(n_bytes: int) -> str:
    return "small" if n_bytes <= SMALL else "large"


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

    A service has two rooms: one for clients with the token, and one for others, so that these cannot keep the first
    out.

    Attributes
    ----------
    active : int
        Requests at work.
    bodies : BodyReader
    readers : Lane
        For work that reads the classifier in memory.
    lookups : Lane
        For work that reads the file, on the thread that writes it.
    """

    def __init__(self, limits: Limits, writer: Lane) -> None:
        self._most = limits.requests
        self.active = 0
        self.bodies = BodyReader(limits.body)
        self.readers = Lane("read", _READERS, limits.queue)
        self.lookups = Lane("look up", writer, limits.queue)

    def check(self) -> None:
        """Refuse a request while there are too many."""
        if self.active >= self._most:
            raise Problem.busy(f"{self._most:,} requests are at work already")


class Call(NamedTuple):
    """A request that was let in.

    Attributes
    ----------
    is_owner : bool
        Whether it came with the token.
    folder : Folder or None
        Where its body is, if that is a file.
    """

    head: Head
    body: Body
    is_owner: bool
    room: Room
    folder: Folder | None = None
