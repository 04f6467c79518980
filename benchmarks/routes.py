"""Ways of a short prediction through the service: what does FastAPI's own way cost?

    python benchmarks/routes.py [--seconds 1.5] [--rounds 6]

    past the routes     the gate calls the function of the route, as the service does
    a route             through FastAPI's middleware and router, to the function of the route
    FastAPI's route     through FastAPI's dependencies, too
    plain FastAPI       the shortest application that answers the same: no security, no limits, no metrics, no log

All of them are asked in turns, over one connection and over eight.  The time of the processor is that of the server's
process: it is hardly disturbed by what else the machine does.  Needs the extra `serve`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import uvicorn
from fastapi import FastAPI
from fastapi.routing import APIRoute
from keepalive import request, steadily
from service import free_port, server
from starlette.routing import request_response

import bunrui
from bunrui.service import Settings, host_names, schemas
from bunrui.service.app import create_app
from bunrui.service.predict import predict_all

WAYS = ("past the routes", "a route", "FastAPI's route", "plain FastAPI")
TEXTS = ["cheap pills now", "meeting at noon with the team", "win money fast", "lunch with the team " * 3]


def serve(way: str, path: str, port: int) -> None:
    classifier = bunrui.open(path, read_only=True)
    app: object
    if way == "plain FastAPI":
        app = plain = FastAPI()

        @plain.post("/v1/predict")
        async def predict(body: schemas.Predict) -> schemas.Predicted:
            return predict_all(classifier, body.texts, body.top)

        @plain.get("/readyz")
        async def readyz() -> dict[str, bool]:
            return {"ready": True}

    else:
        app = gate = create_app(classifier, Settings(names=host_names("127.0.0.1", port)))
        if way != "past the routes":
            gate.direct = {}
        if way == "a route":
            for route in gate.app.routes:
                if isinstance(route, APIRoute) and route.path == "/v1/predict":
                    route.app = request_response(route.endpoint)
    uvicorn.run(app, port=port, access_log=False, log_level="warning")  # type: ignore[arg-type]


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        way, path, port = options.serve
        serve(way, path, int(port))
        return
    found: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
    with ExitStack() as stack:
        path = str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "mail.bunrui")
        with bunrui.create(path) as clf:
            clf.learn(TEXTS, ["spam", "ham", "spam", "ham"])
        ports = {way: free_port() for way in WAYS}
        processes = {
            way: stack.enter_context(server(__file__, "--serve", way, path, str(port), port=port))
            for way, port in ports.items()
        }
        for _ in range(options.rounds):
            for way, port in ports.items():
                messages = [request(port, "/v1/predict", json.dumps({"texts": [text]}).encode()) for text in TEXTS]
                for connections in (1, 8):
                    before = processor_seconds(processes[way].pid)
                    rate, times = asyncio.run(steadily(port, messages, connections, options.seconds))
                    spent = processor_seconds(processes[way].pid) - before
                    figures = rate, median(times) * 1e6, spent / len(times) * 1e6
                    found.setdefault((way, connections), []).append(figures)
    print(f"{'':24}{'requests/s':>12}{'median, µs':>12}{'processor, µs':>15}")
    for (way, connections), rounds in found.items():
        rates, times, spent = zip(*rounds, strict=True)
        name = f"{way} × {connections}"
        print(f"{name:24}{median(rates):12,.0f}{median(times):12,.0f}{median(spent):15,.0f}")


if __name__ == "__main__":
    main()
