"""Errors as problem details (RFC 9457).

    type       urn:bunrui:problem:busy
    title      Too much to do
    status     503
    detail     what was expected, and what to do next
    instance   urn:uuid:…
    cause      encoding        the kind of error behind it, with its fields: option, value, choices, file, line, row,
                               most, suggests

`type`, `cause` and the fields are for programs, such as a page in another language; `detail` is for people.  The log
has the `instance`.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import uuid
from http import HTTPStatus
from typing import Any

from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response

from bunrui import errors as library
from bunrui.errors import STEPS, UNSAID, BunruiError, Option, Step

MEDIA_TYPE = "application/problem+json"

KINDS = {
    "bad-request": (400, "The request cannot be read"),
    "no-token": (401, "A token is needed"),
    "read-only": (403, "The service only reads"),
    "foreign-origin": (403, "The page of another site asks"),
    "not-found": (404, "There is nothing here"),
    "no-such-method": (405, "The method does not fit"),
    "too-slow": (408, "The body takes too long"),
    "conflict": (409, "The classifier cannot do that as it is"),
    "changed-since": (409, "Something else was changed since"),
    "several-labels": (409, "One label would replace several"),
    "too-large": (413, "Too much in one request"),
    "media-type": (415, "The type of the body does not fit"),
    "wrong-host": (421, "The service has another name"),
    "invalid": (422, "Something in the request is not valid"),
    "internal": (500, "Something broke"),
    "missing": (501, "The service cannot do that yet"),
    "busy": (503, "Too much to do"),
    "not-ready": (503, "Not ready"),
    "no-room": (507, "The disk is full"),
}
"""Status and title by the last part of the type."""

_LONGEST_VALUE = 200
_OF_STATUS = {
    404: ("not-found", "this address has nothing: /openapi.json lists those that have"),
    405: ("no-such-method", "this address takes other methods: /openapi.json lists them"),
}
_OF_ERROR: dict[type[BunruiError], str] = {  # the first that fits
    library.MissingExtraError: "missing",
    library.ChangedError: "changed-since",
    library.MovedError: "not-ready",
    library.DamagedError: "internal",
    library.LabelSetError: "several-labels",
    library.DuplicateError: "conflict",
    library.MismatchError: "conflict",
    library.NotLearnedError: "conflict",
    library.UnlearnError: "conflict",
    library.StoreError: "conflict",
    BunruiError: "invalid",
}
_NO_ROOM = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
_OF_SQLITE = {sqlite3.SQLITE_BUSY: "busy", sqlite3.SQLITE_LOCKED: "busy", sqlite3.SQLITE_FULL: "no-room"}


class Problem(Exception):  # noqa: N818
    """What is told to a client in place of an answer.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    detail : str
        What was expected, and what to do next.
    headers : dict
        To be sent with it.
    **fields
        For programs: the cause and what is known of it, such as the `line` of a file, and options to try (`suggests`);
        `errors` of the parts of a body.
    """

    def __init__(self, kind: str, detail: str, *, headers: dict[str, str] | None = None, **fields: Any) -> None:
        super().__init__(detail)
        self.fields = fields
        self.kind = kind
        self.status, self.title = KINDS[kind]
        self.detail = detail
        self.headers = headers or {}
        self.instance = f"urn:uuid:{uuid.uuid4()}"

    @classmethod
    def busy(cls, detail: str) -> Problem:
        """Come again."""
        return cls("busy", f"{detail}: try again in a second", headers={"Retry-After": "1"})

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        members = {"type": f"urn:bunrui:problem:{self.kind}", "title": self.title, "status": self.status}
        return members | {"detail": self.detail, "instance": self.instance} | self.fields


def problem_of(error: Exception, path: str) -> Problem:
    """The problem behind an error; the folder of the classifier at `path` is nobody's business."""
    if isinstance(error, Problem):
        return error
    said = error.tell(spell_in_json) if isinstance(error, BunruiError) else str(error)
    problem = _problem_of(error, said.replace(path, os.path.basename(path)))
    if isinstance(error, BunruiError):
        problem.fields = fields_of(error)
    return problem


def fields_of(error: BunruiError) -> dict[str, Any]:
    """The kind of an error and its fields, those that it has.

    >>> from bunrui.errors import OptionError
    >>> fields_of(OptionError(option="metric", value="f2", choices=["accuracy"], hint=("try ", Option("top", 3))))
    {'cause': 'option', 'option': 'metric', 'value': 'f2', 'choices': ['accuracy'], 'suggests': {'top': 3}}
    """
    parts = [part for said in (error.problem, error.hint) if isinstance(said, tuple) for part in said]
    suggested = {part.name: part.value for part in parts if isinstance(part, Option) and _is_plain(part.value)}
    if isinstance(error, library.DataError) and error.line is not None:
        suggested["skip_bad"] = True
    known = {
        "cause": error.cause or "-".join(re.findall("[A-Z][a-z]+", type(error).__name__)[:-1]).lower(),
        "option": error.option,
        "value": error.value if _is_plain(error.value) else None,
        "choices": list(error.choices) or None,
        "file": error.file and os.path.basename(error.file),
        "line": error.line,
        "row": error.row,
        "suggests": suggested or None,
    }
    return {name: value for name, value in known.items() if value is not None}


def _is_plain(value: Any) -> bool:
    """Whether a value is one that JSON has, and short."""
    return isinstance(value, (str, int)) and len(str(value)) <= _LONGEST_VALUE


def _problem_of(error: Exception, detail: str) -> Problem:
    if isinstance(error, HTTPException):
        kind, detail = _OF_STATUS.get(error.status_code, ("bad-request", HTTPStatus(error.status_code).phrase))
        return Problem(kind, detail, headers=dict(error.headers or {}))
    if isinstance(error, BunruiError):
        kind = next(kind for of, kind in _OF_ERROR.items() if isinstance(error, of))
        code = getattr(error.__cause__, "sqlite_errorcode", None)
        if kind == "conflict" and code is not None:
            kind = _OF_SQLITE.get(code & 0xFF, "internal")  # the low byte is the kind of error
        return Problem(kind, detail, headers={"Retry-After": "1"} if kind == "busy" else {})
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return Problem("no-room", "the disk of the service is full: make room, and try again")
    return Problem("internal", "this should not happen: the log of the service says more about this instance")


_STEPS = STEPS | {
    "learn": "learn documents first",
    "reopen": "ask again",
    "learn-table": "learn the table into a new classifier",
    "replace-surrogate": "replace it",
}


def spell_in_json(part: Option | Step) -> str:
    """An option as a field of JSON or of a query, a step as something that a request can do.

    >>> [spell_in_json(Option(*given)) for given in (("min_df",), ("text", ...), ("encoding", "cp932"))]
    ['min_df', 'text', 'encoding "cp932"']
    """
    if isinstance(part, Step):
        return _STEPS[part.name].format(file=os.path.basename(part.file))
    if part.value is UNSAID or part.value is ...:
        return part.name
    return f"{part.name} {to_json(part.value).decode()}"


def response_of(problem: Problem) -> Response:
    """The answer."""
    return Response(to_json(problem.to_dict()), problem.status, problem.headers, MEDIA_TYPE)
