"""What operators see: counters and histograms, in the text format of Prometheus.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

__all__ = ["MEDIA_TYPE", "Metrics", "gauge"]

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counts requests and their times.

    >>> metrics = Metrics()
    >>> metrics.add("/v1/predict", 200, 0.0007)
    >>> print("".join(metrics.lines()[:3]), end="")
    # HELP bunrui_requests_total Requests that were answered.
    # TYPE bunrui_requests_total counter
    bunrui_requests_total{route="/v1/predict",status="200"} 1
    """

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()

    def add(self, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests[route, status] += 1
        if route not in self._times:
            self._times[route] = [0] * (len(BUCKETS) + 1)
        self._times[route][bisect_left(BUCKETS, seconds)] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]

    def lines(self) -> list[str]:
        """Everything so far."""
        lines = _head("bunrui_requests_total", "counter", "Requests that were answered.")
        for (route, status), n in sorted(self._requests.items()):
            lines.append(f'bunrui_requests_total{{route="{route}",status="{status}"}} {n}\n')
        name = "bunrui_request_seconds"
        lines += _head(name, "histogram", "From the first byte of a request to the last of its answer.")
        for route, counts in sorted(self._times.items()):
            n = 0
            for bound, count in zip((*BUCKETS, "+Inf"), counts, strict=True):
                n += count
                lines.append(f'{name}_bucket{{route="{route}",le="{bound}"}} {n}\n')
            lines.append(f'{name}_sum{{route="{route}"}} {self._seconds[route]:.6f}\n')
            lines.append(f'{name}_count{{route="{route}"}} {n}\n')
        return lines


def gauge(name: str, help: str, values: Iterable[tuple[str, float]]) -> list[str]:
    """Something that goes up and down; values with their labels.

    >>> print("".join(gauge("bunrui_waiting", "Work.", [('{lane="read"}', 2)])), end="")
    # HELP bunrui_waiting Work.
    # TYPE bunrui_waiting gauge
    bunrui_waiting{lane="read"} 2
    """
    return [*_head(name, "gauge", help), *(f"{name}{labels} {value}\n" for labels, value in values)]


def _head(name: str, kind: str, help: str) -> list[str]:
    return [f"# HELP {name} {help}\n", f"# TYPE {name} {kind}\n"]
