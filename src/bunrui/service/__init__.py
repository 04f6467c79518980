"""The service: one classifier file over HTTP, for programs and for the page in `web/`.

A service is one process with one event loop.  A short prediction runs on the loop itself, a long one on a worker
thread; all work on the file runs on one thread of its own (docs/decisions/006).  ARCHITECTURE.md lists the modules.

This module has the settings of a service, which the command line gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import quote

__all__ = ["Limits", "Settings", "host_names", "link"]

_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_HTTP_PORT = 80


@dataclass(frozen=True)
class Limits:
    """The limits of a service.

    Attributes
    ----------
    body : int
        Bytes of the body of a request.  All bodies of clients without the token together may hold three times as much,
        a third of it for small ones.  The same holds for clients with the token.
    documents : int
        Documents of a request.
    characters : int
        Characters of a document.
    requests : int
        Requests at the same time, of clients without the token, and again of those with it; others get 503.
    queue : int
        Changes, or batches, that wait for a thread.
    file : int
        Bytes of a file that is kept on disk.
    """

    body: int = 64 << 20
    documents: int = 100_000
    characters: int = 10_000_000
    requests: int = 256
    queue: int = 64
    file: int = 1 << 30


@dataclass(frozen=True)
class Settings:
    """How a service runs.

    Attributes
    ----------
    token : str or None
        The token for writing; without one the service only reads.
    names : frozenset of str
        The names that the header Host may have.
    origins : frozenset of str
        Other sites whose pages may send requests.
    limits : Limits
    """

    token: str | None = None
    names: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    limits: Limits = field(default_factory=Limits)


def host_names(host: str, port: int, given: Iterable[str] = ()) -> frozenset[str]:
    """The names that the header Host may have, for a service that listens on an address.

    A given name may come without a port, because a proxy may stand in front.

    >>> sorted(host_names("192.168.1.7", 8765, ["Example.org"]))
    ['127.0.0.1:8765', '192.168.1.7:8765', '[::1]:8765', 'example.org', 'example.org:8765', 'localhost:8765']
    """
    listening = [*_LOCAL, _bracketed(host)]
    names = {f"{name}:{port}" for name in [*listening, *given]} | set(given)
    if port == _HTTP_PORT:
        names |= set(listening)
    return frozenset(name.lower() for name in names)


def link(host: str, port: int, token: str | None = None) -> str:
    """The address of the page; the token stands behind #, which browsers do not send.

    >>> link("0.0.0.0", 8765, "s3cret%")
    'http://127.0.0.1:8765/#token=s3cret%25'
    >>> link("::1", 80)
    'http://[::1]:80/'
    """
    anywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    fragment = f"#token={quote(token, safe='')}" if token else ""
    return f"http://{_bracketed(anywhere.get(host, host))}:{port}/{fragment}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
