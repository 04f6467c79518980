"""An address → a file beside its final place, taken up again where an earlier download stopped.

    NAME.part       what has come so far
    NAME.part.tag   the server's ETag or date of it: a part of another version is never continued

A server without ranges, or with a newer version, sends the whole file, and the download starts over.
"""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bunrui.errors import DataError

VARIABLE = "BUNRUI_DATASETS"
"""The environment variable that names another folder for corpora."""

Report = Callable[[str, int, "int | None"], None]
"""Called with the name of the present step, the bytes that are done, and all bytes."""

_BLOCK = 1 << 18
_TIMEOUT = 60.0
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class UnreachableError(DataError):
    """A server that does not answer, or does not have the file."""


class _Answer(NamedTuple):
    """`start` is the first byte that comes, `total` the length of the whole file."""

    stream: Any
    start: int
    total: int | None


def download(url: str, target: Path, *, limit: int, report: Report | None = None) -> Path:
    """Get a file as a whole, under the name of `target` with `.part` behind it.

    Parameters
    ----------
    url : str
    target : Path
        Its folder must be there.
    limit : int
        More bytes are refused.
    report : callable, optional

    Returns
    -------
    Path
        The part, complete.

    Raises
    ------
    DataError
        The bytes that have come stay, and the next call goes on from there.
    """
    part, tag = beside(target, ".part"), beside(target, ".part.tag")
    validator = tag.read_text(encoding="utf-8") if tag.is_file() else ""
    have = part.stat().st_size if part.is_file() and validator else 0
    answer = _ask(url, have, validator)
    if answer is None:  # the part is complete already
        return part
    with closing(answer.stream):
        if answer.total is not None and answer.total > limit:
            more = f"this has {answer.total:,} bytes, and {limit:,} at most are expected: nothing was taken"
            raise DataError(more, file=url)
        with writing(target.parent):
            out = open(part, "ab" if answer.start else "wb")  # noqa: SIM115
        with out:
            if not answer.start:
                with writing(target.parent):
                    tag.write_text(_validator(answer.stream), encoding="utf-8")
            done = _copy(answer, out, url, target, limit, report)
    if answer.total is not None and done != answer.total:
        raise DataError(f"the connection was cut after {done:,} of {answer.total:,} bytes", file=url, hint=_AGAIN)
    return part


_AGAIN = "run it again, and it goes on from there"


def discard(target: Path) -> None:
    """Remove the files of a download, finished or not."""
    for suffix in (".part", ".part.tag"):
        beside(target, suffix).unlink(missing_ok=True)


@contextmanager
def writing(where: Path) -> Iterator[None]:
    """Say what to do where a folder cannot be written."""
    try:
        yield
    except OSError as error:
        found = DataError.of_system(error, str(where))
        found.hint = f"{found.hint}, or name another folder with {VARIABLE}"
        raise found from error


def beside(target: Path, suffix: str) -> Path:
    """The file that has the same name, and a suffix behind it."""
    return target.with_name(target.name + suffix)


def _copy(answer: _Answer, out: Any, url: str, target: Path, limit: int, report: Report | None) -> int:
    done = answer.start
    while True:
        try:
            block = answer.stream.read(_BLOCK)
        except (OSError, http.client.HTTPException) as error:
            cut = f"the connection was cut after {done:,} bytes ({_reason(error)})"
            raise DataError(cut, file=url, hint=_AGAIN) from error
        if not block:
            break
        done += len(block)
        if done > limit:
            raise DataError(f"this is more than the {limit:,} bytes that are expected: it was stopped", file=url)
        with writing(target.parent):
            out.write(block)
        if report is not None:
            report(target.name, done, answer.total)
    with writing(target.parent):
        out.flush()
    return done


def _ask(url: str, have: int, validator: str) -> _Answer | None:
    """The answer of a server; None where it says that `have` is all that there is."""
    headers = {"User-Agent": "bunrui", "Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": validator}
    try:
        stream = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and have:
            is_whole = error.headers.get("Content-Range") == f"bytes */{have}"
            return None if is_whole else _ask(url, 0, "")
        raise UnreachableError(f"the server answers {error.code} {error.reason}", file=url) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UnreachableError(f"this cannot be reached ({_reason(error)})", file=url) from error
    if url.startswith("https:") and not stream.url.startswith("https:"):
        stream.close()
        raise DataError(f"this leads to {stream.url}, which others can change: nothing was taken", file=url)
    found = _RANGE.fullmatch(stream.headers.get("Content-Range", ""))
    if stream.status == http.client.PARTIAL_CONTENT:
        if found is None or int(found[1]) != have:
            stream.close()
            if have:
                return _ask(url, 0, "")
            raise DataError("the server sends a part of the file, and was asked for all of it", file=url)
        return _Answer(stream, have, None if found[2] == "*" else int(found[2]))
    length = stream.headers.get("Content-Length", "")
    return _Answer(stream, 0, int(length) if length.isdecimal() else None)


def _validator(stream: Any) -> str:
    """The name of this version of a file, as the server takes it in `If-Range`: no weak ETag."""
    tag = str(stream.headers.get("ETag", ""))
    return tag if tag.startswith('"') else str(stream.headers.get("Last-Modified", ""))


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.URLError):
        reason = error.reason
        return str(reason.strerror or reason) if isinstance(reason, OSError) else str(reason)
    return str(error) or type(error).__name__
