"""A file of a million rows through the page's requests: time, rows a second, peak memory of the service.

    python benchmarks/page_file.py                 1,000,000 rows
    python benchmarks/page_file.py --rows 100000

It starts the real service, sends the file as the page does, predicts it in a job, reads pages of the table, and
downloads the result.  Beside it stands `bunrui predict` on the same file.  Memory is the largest resident size that the
kernel reports (VmHWM): of the service, and of the process that reads the file for it.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

import bunrui
from bunrui.data import read

ADDRESS = re.compile(r"at (http://[^\s/]+)/")
PAGES = {
    "first page": {},
    "unsure first": {"order": "unsure"},
    "its page 1,000": {"order": "unsure", "offset": 50_000},
    "one label": {"label": "sports", "order": "unsure"},
    "search": {"find": "minister"},
    "its next page": {"find": "minister", "offset": 50},
}


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), n_rows)


def measure(folder: Path, n_rows: int) -> None:
    """One run."""
    rows = list(read("demo"))
    with bunrui.create(folder / "news.bunrui") as clf:
        clf.learn([row["text"] for row in rows], [row["label"] for row in rows])
    path = folder / "new.csv"
    write(path, [row["text"] for row in rows], n_rows)
    print(f"{n_rows:,} rows, {path.stat().st_size / 1e6:.0f} MB of CSV")
    command(folder, n_rows)
    log = folder / "log"
    with log.open("wb") as stderr:
        service = subprocess.Popen(
            [sys.executable, "-m", "bunrui", "serve", str(folder / "news.bunrui"), "--port", "0"], stderr=stderr
        )
    try:
        ask(service.pid, address(log), path, n_rows)
    finally:
        service.terminate()
        service.wait()


def write(path: Path, texts: list[str], n_rows: int) -> None:
    """A file with an id, a text of one or two documents of the demonstration, and a number."""
    draw = random.Random(7)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "body", "price"])
        for k in range(n_rows):
            writer.writerow([k, f"{draw.choice(texts)} {draw.choice(texts)[:40]} {k}", k % 997])


def address(log: Path) -> str:
    """Where the service listens, when it is ready."""
    while True:
        time.sleep(0.2)
        found = ADDRESS.search(log.read_text())
        if found:
            try:
                if httpx.get(f"{found[1]}/readyz").status_code == 200:
                    return found[1]
            except httpx.TransportError:
                pass


def command(folder: Path, n_rows: int) -> None:
    """`bunrui predict` on the same file."""
    started = time.perf_counter()
    out = folder / "labels.parquet"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "bunrui",
            "predict",
            folder / "news.bunrui",
            folder / "new.csv",
            "--text",
            "body",
            "-o",
            out,
        ],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{'bunrui predict':24} {seconds:7.1f} s {n_rows / seconds:10,.0f} rows a second   peak {memory:,.0f} MB")


def ask(pid: int, url: str, path: Path, n_rows: int) -> None:
    """All that the page asks."""
    peaks = Peaks(pid)
    with httpx.Client(base_url=url, timeout=600) as client, peaks:

        def timed(name: str, work: Callable[[], Any]) -> Any:
            started = time.perf_counter()
            found = work()
            seconds = time.perf_counter() - started
            speed = f"{n_rows / seconds:10,.0f} rows a second" if seconds > 1 else f"{'':24}"
            print(f"{name:24} {seconds:7.2f} s {speed}   service {peak(pid):,.0f} MB")
            return found

        def send() -> str:
            with path.open("rb") as file:
                answer = client.post(
                    "/v1/files",
                    params={"name": path.name},
                    content=iter(lambda: file.read(1 << 16), b""),
                    headers={"Content-Type": "application/octet-stream"},
                )
            return str(answer.raise_for_status().json()["id"])

        def predict() -> str:
            job = client.post("/v1/predictions", params={"file": id, "text": "body"}).raise_for_status().json()
            while job["state"] in ("waiting", "running"):
                time.sleep(0.2)
                job = client.get(f"/v1/jobs/{job['id']}").json()
            assert job["state"] == "done" and job["result"]["documents"] == n_rows, job
            return str(job["id"])

        def download(format: str) -> int:
            with client.stream("GET", f"/v1/downloads/{job}", params={"format": format}) as answer:
                return sum(map(len, answer.iter_raw()))

        id = timed("send", send)
        timed("look into it", lambda: client.get(f"/v1/files/{id}", params={"whole": False}).raise_for_status())
        job = timed("predict", predict)
        for name, options in PAGES.items():
            timed(name, lambda options=options: client.get(f"/v1/predictions/{job}", params=options).raise_for_status())
        for format in ("csv", "parquet", "xlsx"):
            timed(f"download {format}", lambda format=format: download(format))
    print(f"peak of the service {peak(pid):,.0f} MB; of the process that reads the file {peaks.child:,.0f} MB")


def peak(pid: int) -> float:
    """The largest resident size of a process so far, in MB."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0


class Peaks:
    """Watches the children of a process."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._done = threading.Event()
        self.child = 0.0

    def __enter__(self) -> Peaks:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            for task in Path(f"/proc/{self._pid}/task").glob("*/children"):
                try:
                    children = task.read_text().split()
                except OSError:
                    continue
                self.child = max([self.child, *(peak(int(child)) for child in children)])


if __name__ == "__main__":
    os.environ["BUNRUI_TOKEN"] = "benchmark"
    main()
