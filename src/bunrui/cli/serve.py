"""`bunrui serve`."""

from __future__ import annotations

import os
import secrets
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar
from urllib.parse import urlsplit

import bunrui
from bunrui.cli.console import say
from bunrui.cli.parameters import Classifier, flag, option
from bunrui.errors import MissingExtraError, OptionError

_PACKAGES = ("fastapi", "uvicorn")
_VARIABLE = "BUNRUI_TOKEN"
_AUTO = "auto"
_MB = 1 << 20


def _limit(metavar: str, help: str, default: int) -> Any:
    return option(metavar, help, min=1, show_default=True, default=default)


@dataclass(frozen=True)
class Most:
    """How much at once."""

    panel: ClassVar = "Limits"

    max_body: int = _limit("MB", "The largest request.", 64)
    max_documents: int = _limit("N", "The most documents in a request.", 100_000)
    max_characters: int = _limit("N", "The longest document.", 10_000_000)
    max_requests: int = _limit("N", "The most requests at a time; others are told to come again.", 256)
    max_file: int = _limit(
        "MB", "The largest file that the page predicts or learns. All files take at most four times as much disk.", 1024
    )


def serve(
    file: Classifier,
    most: Most,
    host: str = option("ADDRESS", "The address to listen on.", default="127.0.0.1"),
    port: int = option("N", "The port; 0 for any that is free.", min=0, max=65535, default=8765),
    token: str | None = option(
        "TOKEN",
        "Clients with this token may learn and unlearn; 'auto' makes one. Others can see the command line: give your "
        "own token as BUNRUI_TOKEN.",
    ),
    read_only: bool = flag("Never write, whatever BUNRUI_TOKEN says."),
    name: list[str] | None = option("NAME", "Another host name of the service, such as example.org. Can be repeated."),
    cors: list[str] | None = option(
        "ORIGIN", "Let pages of another site ask, such as https://example.org. Can be repeated."
    ),
) -> None:
    """Serve a classifier over HTTP, with a web page.

    Without a token the service only reads. With a token it learns, and every
    answered change is in FILE, which is made if it is not there. It listens
    only to this machine; --host 0.0.0.0 lets others in, without encryption:
    put a proxy in front. /openapi.json describes the requests; the log on
    stderr never holds a document. Ctrl-C stops the service within ten
    seconds: requests and trainings may end until then; jobs that only read
    are cancelled.

    [bold]Examples[/]

      bunrui serve mail.bunrui
      bunrui serve mail.bunrui --token auto
      BUNRUI_TOKEN=… bunrui serve mail.bunrui --port 8000
      bunrui serve mail.bunrui --host 0.0.0.0 --name mail.example.org
    """

    check_packages()
    from bunrui.service import Limits, Settings, host_names, link
    from bunrui.service.app import listen, run

    secret = _secret(token, read_only)
    origins = frozenset(_origin(given) for given in cors or ())
    numbers = most.max_documents, most.max_characters, most.max_requests
    limits = Limits(most.max_body * _MB, *numbers, file=most.max_file * _MB)
    if secret is not None and not os.path.lexists(file):
        bunrui.create(file).close()
        say(f"made {file}: it has learned nothing yet")
    with bunrui.open(file, read_only=secret is None) as classifier, closing(listen(host, port)) as opened:
        bound = opened.getsockname()[1]
        say(f"serving {file} at {link(host, bound, secret if token else None)}")
        if secret is None:
            say("it only reads: start it with --token auto to let it learn")
        run(classifier, Settings(secret, host_names(host, bound, name or ()), origins, limits), opened)


def check_packages() -> None:
    """Refuse to go on without the packages that the service needs."""
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise MissingExtraError("serve", package, "the service needs")


def _secret(token: str | None, read_only: bool) -> str | None:
    """The token that writing needs, None for a service that only reads."""
    if read_only:
        if token is not None:
            raise OptionError("--token allows changes, and --read-only forbids them: give one of the two.")
        return None
    if token == _AUTO:
        return secrets.token_urlsafe(24)
    secret = os.environ.get(_VARIABLE) or None if token is None else token
    if secret is not None and not (secret.isascii() and secret.isprintable() and secret and " " not in secret):
        raise OptionError("a token consists of letters, digits and signs of ASCII, without spaces.")
    return secret


def _origin(given: str) -> str:
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.netloc or given != f"{parts.scheme}://{parts.netloc}":
        raise OptionError(f"{given!r} is no origin: give scheme, host and port, such as https://example.org.")
    return given
