"""Routes for those who run the service: is it alive, is it ready, what does it do."""

from __future__ import annotations

from fastapi import FastAPI, Response

from bunrui.service.core import Service, answer
from bunrui.service.metrics import MEDIA_TYPE, gauge

__all__ = ["ALWAYS", "add_operating"]

ALWAYS = ("/healthz", "/readyz", "/metrics")


def add_operating(app: FastAPI, service: Service) -> None:
    """Add the routes."""

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> Response:
        return answer({"alive": True})

    @app.get("/readyz", include_in_schema=False)
    async def readyz() -> Response:
        service.check_ready()
        return answer({"ready": True})

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        classifier = service.served.classifier
        rooms = service.rooms.values()
        waiting = {
            "read": sum(room.readers.pending for room in rooms),
            "write": service.writer.pending + sum(room.lookups.pending for room in rooms),
            "jobs": service.jobs.pending,
        }
        lines = [
            *service.metrics.lines(),
            *gauge("bunrui_requests_active", "Requests at work.", [("", sum(room.admission.active for room in rooms))]),
            *gauge(
                "bunrui_queue",
                "Work that waits for a thread or is being done.",
                [(f'{{lane="{lane}"}}', n) for lane, n in waiting.items()],
            ),
            *gauge("bunrui_body_bytes", "Bodies in memory.", [("", sum(room.bodies.held for room in rooms))]),
            *gauge("bunrui_documents", "Documents that were learned.", [("", classifier.counts.n_docs)]),
            *gauge("bunrui_labels", "Labels that have documents.", [("", len(classifier.counts.live_labels))]),
            *gauge("bunrui_features", "Features that have documents.", [("", classifier.counts.n_features)]),
            *gauge("bunrui_file_bytes", "Size of the file.", [("", classifier.size)]),
        ]
        return Response("".join(lines), media_type=MEDIA_TYPE)
