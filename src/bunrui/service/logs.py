"""The log: one JSON object a line on stderr, and never a document in it.

Messages of errors may quote a document: of an error that nobody expected, the log has its name and the places in the
code that it came through, not its words.
"""

from __future__ import annotations

import logging
import math
import sys
import time
import traceback
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from pydantic_core import to_json

__all__ = ["event", "open_log", "request"]

_LOG = logging.getLogger("bunrui.service")
_LOGGERS = ("bunrui", "uvicorn", "asyncio")
_REPEAT_SECONDS = 60.0


class _Repeats(logging.Filter):
    """Lets the same message of another package through once a minute, and says how many it has left out.

    Out of file descriptors, asyncio writes one a thousand times a second: 87 MB in half a minute.
    """

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[Any, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == _LOG.name:
            return True
        # The first line without its arguments: what follows names objects, which differ each time.
        message = str(record.msg).partition("\n")[0], record.exc_info and record.exc_info[0]
        written, n_left_out = self._known.get(message, (-math.inf, 0))
        if record.created - written < _REPEAT_SECONDS:
            self._known[message] = written, n_left_out + 1
            return False
        self._known[message] = record.created, 0
        if n_left_out:
            record.fields = {"repeated": n_left_out}
        return True


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _written(record.created),
            "level": record.levelname.lower(),
            "event": record.getMessage().strip(),
            **getattr(record, "fields", {}),
        }
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            frames = traceback.extract_tb(error.__traceback__)
            line |= {
                "error": type(error).__name__,
                "through": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
            }
        return to_json(line).decode()


def open_log() -> None:
    """Send everything that is logged to stderr, as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    handler.addFilter(_Repeats())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO if name == "bunrui" else logging.WARNING)


def event(name: str, level: int = logging.INFO, error: BaseException | None = None, **fields: Any) -> None:
    """Write a line."""
    if _LOG.isEnabledFor(level):
        _LOG.log(level, name, exc_info=error, extra={"fields": fields})


def request(method: str, route: str, status: int, seconds: float, problem: str = "", instance: str = "") -> None:
    """Write the line of a request.

    Put together by hand, in 4 µs: through `logging` it takes 14.  Nothing in it is the client's own, so that nothing
    has to be escaped.
    """
    if not _LOG.isEnabledFor(logging.INFO):
        return
    more = f',"problem":"{problem}","instance":"{instance}"' if problem else ""
    sys.stderr.write(
        f'{{"time":"{_written(time.time())}","level":"info","event":"request","method":"{method}","route":"{route}",'
        f'"status":{status},"ms":{seconds * 1e3:.3f}{more}}}\n'
    )


def _written(moment: float) -> str:
    """
    >>> _written(0.5)
    '1970-01-01T00:00:00.500Z'
    """
    return f"{_second(int(moment))}.{int(moment % 1 * 1000):03d}Z"


@lru_cache(2)
def _second(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S")
