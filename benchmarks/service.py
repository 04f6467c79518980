"""The service beside a FastAPI application around scikit-learn: single predictions, batches, learning, overload.

    python benchmarks/service.py [--seconds 5] [--connections 8] [--json]

Messages of 20 Newsgroups (generated text, where there are none), one a request, over connections that stay open.  The
peer is the shortest application that answers the same: CountVectorizer and MultinomialNB, one process, the same server.
Both are asked in turns, in the same run; the client has a process of its own, which on two cores is one of them.

Overload: requests come at twice the rate that was measured, whether or not the service keeps up, while another client
learns message after message; then the service is killed, and the file must hold all that was acknowledged.

Needs the extra `serve`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import corpora
import pyarrow as pa
from fastapi import FastAPI, Request, Response
from keepalive import connect, flood, request, steadily

import bunrui

TOKEN = "benchmark"
ARROW = "application/vnd.apache.arrow.stream"
BATCH_BYTES = 20_000_000
ROUNDS = 3


# --- the peer


def serve_peer(port: int) -> None:
    """The application around scikit-learn."""
    import uvicorn
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    train = corpus().train
    model = make_pipeline(CountVectorizer(), MultinomialNB())
    model.fit(train["text"].to_pylist(), train["label"].to_pylist())
    app = FastAPI()

    @app.post("/v1/predict")
    async def predict(request: Request) -> Response:
        shares = model.predict_proba(json.loads(await request.body())["texts"])
        labels = model.classes_[shares.argmax(axis=1)].tolist()
        answer = json.dumps({"labels": labels, "probabilities": shares.max(axis=1).tolist()})
        return Response(answer, media_type="application/json")

    @app.get("/readyz")
    async def readyz() -> dict[str, bool]:
        return {"ready": True}

    uvicorn.run(app, port=port, access_log=False, log_level="warning")


# --- servers


def corpus() -> corpora.Corpus:
    try:
        return corpora.load("20news")
    except FileNotFoundError:
        return corpora.load("zipf_en")


@contextmanager
def server(*command: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a process of its own, when it is ready."""
    process = subprocess.Popen([sys.executable, *command], stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1):
                    break
            except OSError:
                if process.poll() is not None:
                    raise RuntimeError(f"{command} has ended with {process.returncode}") from None
                time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def bunrui_server(path: str, port: int) -> Any:
    return server("-m", "bunrui", "serve", path, "--port", str(port), "--token", TOKEN, port=port)


# --- what is measured


async def learning(port: int, texts: list[str], labels: list[str], prefix: str, acknowledged: list[str]) -> None:
    """Learn message after message, until cancelled or cut off; the ids of those that were acknowledged."""
    connection = await connect(port)
    for k, (text, label) in enumerate(cycle(zip(texts, labels, strict=True))):
        body = json.dumps({"texts": [text], "labels": [label], "ids": [f"{prefix}{k}"]}).encode()
        message = request(port, "/v1/learn", body, Authorization=f"Bearer {TOKEN}")
        try:
            status, _ = await connection.ask(message)
        except OSError:
            return
        if status == 200:
            acknowledged.append(f"{prefix}{k}")
        else:
            await asyncio.sleep(0.01)


def batches(port: int, texts: pa.Array) -> dict[str, float]:
    """MB/s of text, best of a few."""
    n_bytes = corpora.n_bytes(texts)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("text", texts.type)])) as writer:
        writer.write_table(pa.table({"text": texts}))
    messages = {
        "JSON": request(port, "/v1/predict", json.dumps({"texts": texts.to_pylist()}).encode()),
        "Arrow": request(port, "/v1/predict", sink.getvalue().to_pybytes(), ARROW, Accept=ARROW),
    }

    async def fastest(message: bytes) -> float:
        connection, best = await connect(port), float("inf")
        for _ in range(ROUNDS):
            started = time.perf_counter()
            status, _ = await connection.ask(message)
            assert status == 200, status
            best = min(best, time.perf_counter() - started)
        return n_bytes / best / 1e6

    return {name: asyncio.run(fastest(message)) for name, message in messages.items()}


def milliseconds(times: list[float]) -> dict[str, float]:
    return {
        "p50 ms": times[len(times) // 2] * 1e3,
        "p99 ms": times[int(len(times) * 0.99)] * 1e3,
        "max ms": times[-1] * 1e3,
    }


async def while_learning(port: int, messages: list[bytes], texts: list[str], labels: list[str], options: Any) -> Any:
    acknowledged: list[str] = []
    learner = asyncio.create_task(learning(port, texts, labels, "a", acknowledged))
    rate, times = await steadily(port, messages, 2, options.seconds)
    learner.cancel()
    return {"requests/s": rate, "learned/s": len(acknowledged) / options.seconds, **milliseconds(times)}


async def overload(port: int, messages: list[bytes], rate: float, texts: Any, labels: Any, options: Any) -> Any:
    acknowledged: list[str] = []
    learner = asyncio.create_task(learning(port, texts, labels, "b", acknowledged))
    statuses, times = await flood(port, messages, 2 * rate, options.seconds)
    learner.cancel()
    figures = {"asked/s": 2 * rate, "answered/s": statuses[200] / options.seconds, "503": statuses[503]}
    return figures | {"not sent": statuses[0], **milliseconds(times)}, acknowledged


def measure(options: Any, folder: Path) -> dict[str, Any]:
    data = corpus()
    texts, labels = data.test["text"].to_pylist(), data.test["label"].to_pylist()
    bodies = [json.dumps({"texts": [text]}).encode() for text in texts[:2000]]
    figures: dict[str, Any] = {"requests/s": {}}
    ports = {name: free_port() for name in ("same model", "defaults", "scikit-learn")}
    for name, model in (("same model", {"model": "multinomial", "analyzer": "words"}), ("defaults", {})):
        with bunrui.create(folder / name, **model) as clf:
            clf.learn(data.train["text"].chunk(0), data.train["label"].chunk(0))
    peer = server(__file__, "--peer", str(ports["scikit-learn"]), port=ports["scikit-learn"])
    path = str(folder / "defaults")
    with bunrui_server(str(folder / "same model"), ports["same model"]), bunrui_server(path, ports["defaults"]) as own:
        with peer:
            rates: dict[str, list[float]] = {name: [] for name in ports}
            for _ in range(ROUNDS):
                for name, port in ports.items():
                    messages = [request(port, "/v1/predict", body) for body in bodies]
                    rate, _ = asyncio.run(steadily(port, messages, options.connections, options.seconds / ROUNDS))
                    rates[name].append(rate)
        best = {name: max(found) for name, found in rates.items()}
        figures["requests/s"] = best
        figures["ratio"] = {name: rate / best["scikit-learn"] for name, rate in best.items()}
        whole = data.train["text"].chunk(0)
        part = whole[: len(whole) * BATCH_BYTES // corpora.n_bytes(whole)]
        for name in ("same model", "defaults"):
            figures[f"MB/s, {name}"] = batches(ports[name], part)
        port = ports["defaults"]
        messages = [request(port, "/v1/predict", body) for body in bodies]
        figures["while learning"] = asyncio.run(while_learning(port, messages, texts, labels, options))
        rate = best["defaults"]
        figures["overload"], acknowledged = asyncio.run(overload(port, messages, rate, texts, labels, options))
        own.send_signal(signal.SIGKILL)
        own.wait()
    with bunrui.open(path, read_only=True) as clf:
        kept = {document.id for document in clf.documents()}
    figures["overload"] |= {"acknowledged": len(acknowledged), "lost": len(set(acknowledged) - kept)}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--peer", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        serve_peer(options.peer)
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options, Path(folder))
    figures["load"] = os.getloadavg()[0]
    if options.json:
        print(json.dumps(figures))
        return
    for name, values in figures.items():
        shown = {key: f"{value:,.1f}" for key, value in values.items()} if isinstance(values, dict) else values
        print(f"{name:17} {shown}")


if __name__ == "__main__":
    main()
