"""Who may ask.

A service on this machine is within reach of every page that its user looks at.  So the header Host must name it (else a
name that its owner points at 127.0.0.1 would do), an Origin must be its own, bodies must have a type that no form can
send, and who writes must know the token.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from bunrui.service.problems import Problem
from bunrui.service.settings import Settings

__all__ = ["ARROW", "BYTES", "HEADERS", "JSON", "Head", "Security", "head_of", "media_type"]

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
            raise Problem(
                "wrong-host",
                f"{host.decode('latin-1')!r} is no name of this service: ask for it by the address that it printed, "
                "or start it with --name",
            )
        origin = head.get(b"origin")
        if origin is None or origin in self._origins:
            return
        if origin.lower().partition(b"://")[2] != host:
            raise Problem(
                "foreign-origin",
                f"pages of {origin.decode('latin-1')!r} may not ask: start the service with --cors to let them",
            )

    def check_token(self, head: Head) -> None:
        """Refuse to write for who does not know the token."""
        if self._token is None:
            raise Problem("read-only", "this service only reads: start it with --token to let it learn")
        if self.is_owner(head):
            return
        what = "is wrong" if _credentials(head)[1] else "is missing"
        raise Problem(
            "no-token",
            f"the token {what}: send 'Authorization: Bearer …' with the one that the service was started with",
            headers={"WWW-Authenticate": "Bearer"},
        )

    def is_owner(self, head: Head) -> bool:
        """Whether a request comes with the token."""
        scheme, given = _credentials(head)
        return self._token is not None and scheme == b"bearer" and hmac.compare_digest(given, self._token)

    def check_type(self, head: Head, types: tuple[str, ...] = (JSON, ARROW)) -> None:
        """Refuse bodies that a form on any page could send, or that are packed."""
        if media_type(head) not in types:
            raise Problem(
                "media-type",
                f"a body is {' or '.join(types)}, not {media_type(head)!r}: say so in Content-Type",
                headers={"Accept": ", ".join(types)},
            )
        if head.get(b"content-encoding", b"identity").lower() != b"identity":
            raise Problem("media-type", "a body is not packed: send it without Content-Encoding")

    def cross_origin(self, head: Head) -> list[tuple[bytes, bytes]]:
        """Headers for the pages of other sites that may ask."""
        origin = head.get(b"origin")
        if not self._origins:
            return []
        if origin not in self._origins:
            return [(b"vary", b"Origin")]
        return [(b"access-control-allow-origin", origin), (b"vary", b"Origin")]

    def preflight(self, head: Head) -> list[tuple[bytes, bytes]] | None:
        """The answer to a browser that asks whether a page of another site may ask; None where it does not."""
        if head.get(b"origin") not in self._origins or b"access-control-request-method" not in head:
            return None
        return [
            (b"access-control-allow-methods", _METHODS),
            (b"access-control-allow-headers", b"Authorization, Content-Type"),
            (b"access-control-max-age", b"600"),
        ]


def _credentials(head: Head) -> tuple[bytes, bytes]:
    scheme, _, given = head.get(b"authorization", b"").partition(b" ")
    return scheme.lower(), given.strip()
