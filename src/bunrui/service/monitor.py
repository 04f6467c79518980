"""For operators: the log, health and readiness, and metrics.

The log has one JSON object a line on stderr, and never a document.  The message of an error may quote a document.  So
for an unexpected error the log has its name and its places in the code, but not its message.

Metrics are counters and histograms in the text format of Prometheus:
https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import logging
import math
import sys
import time
import traceback
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json
from starlette.responses import Response

if TYPE_CHECKING:
    from fastapi import FastAPI

    from bunrui.service.service import Service

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
            line |= {"error": type(error).__name__, "through": places(error)}
        return to_json(line).decode()


def places(error: BaseException) -> list[str]:
    """The places in the code that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]


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


def log_request(method: str, route: str, status: int, seconds: float, problem: str = "", instance: str = "") -> None:
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


# --- metrics

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counts requests and their times.

    >>> metrics = Metrics()
    >>> metrics.add("/v1/predict", 200, 0.0007)
    >>> print(metrics.to_text().partition("# HELP bunrui_request_seconds")[0], end="")
    # HELP bunrui_requests_total Requests that were answered.
    # TYPE bunrui_requests_total counter
    bunrui_requests_total{route="/v1/predict",status="200"} 1
    """

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def add(self, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests[route, status] += 1
        self._times[route][bisect_left(BUCKETS, seconds)] += 1
        self._seconds[route] += seconds

    def to_text(self) -> str:
        """Everything so far."""
        requests = {
            f'{{route="{route}",status="{status}"}}': n for (route, status), n in sorted(self._requests.items())
        }
        times: dict[str, Any] = {}
        for route, counts in sorted(self._times.items()):
            for bound, n in zip((*BUCKETS, "+Inf"), accumulate(counts), strict=True):
                times[f'_bucket{{route="{route}",le="{bound}"}}'] = n
            times[f'_sum{{route="{route}"}}'] = f"{self._seconds[route]:.6f}"
            times[f'_count{{route="{route}"}}'] = sum(counts)
        help = "From the first byte of a request to the last of its answer."
        return family("bunrui_requests_total", "counter", "Requests that were answered.", requests) + family(
            "bunrui_request_seconds", "histogram", help, times
        )


def family(name: str, kind: str, help: str, values: Mapping[str, Any]) -> str:
    """The lines of a metric; its values by what follows its name.

    >>> print(family("bunrui_waiting", "gauge", "Work.", {'{lane="read"}': 2}), end="")
    # HELP bunrui_waiting Work.
    # TYPE bunrui_waiting gauge
    bunrui_waiting{lane="read"} 2
    """
    lines = "".join(f"{name}{which} {value}\n" for which, value in values.items())
    return f"# HELP {name} {help}\n# TYPE {name} {kind}\n{lines}"


# --- routes

ALWAYS = ("/healthz", "/readyz", "/metrics")


def add_monitor(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    from bunrui.service.schemas import answer  # not above: processes that only log begin 0.2 s sooner

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> Response:
        return answer({"alive": True})

    @app.get("/readyz", include_in_schema=False)
    async def readyz() -> Response:
        service.check_ready()
        return answer({"ready": True})

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        classifier, rooms = service.served.classifier, service.rooms.values()
        waiting = {
            "read": sum(room.readers.pending for room in rooms),
            "write": service.writer.pending + sum(room.lookups.pending for room in rooms),
            "jobs": service.jobs.pending,
        }
        by_lane = {f'{{lane="{lane}"}}': n for lane, n in waiting.items()}
        gauges: dict[str, tuple[str, int | dict[str, int]]] = {
            "requests_active": ("Requests at work.", sum(room.active for room in rooms)),
            "queue": ("Work that waits for a thread or is being done.", by_lane),
            "body_bytes": ("Bodies in memory.", sum(room.bodies.held for room in rooms)),
            "documents": ("Documents that were learned.", classifier.counts.n_docs),
            "labels": ("Labels that have documents.", len(classifier.counts.live_labels)),
            "features": ("Features that have documents.", classifier.counts.n_features),
            "file_bytes": ("Size of the file.", classifier.size),
        }
        lines = [
            family(f"bunrui_{name}", "gauge", help, value if isinstance(value, dict) else {"": value})
            for name, (help, value) in gauges.items()
        ]
        return Response("".join([service.metrics.to_text(), *lines]), media_type=_PROMETHEUS)
