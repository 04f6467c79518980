"""A process that learns and predicts a corpus when it is told to: with so many threads, with the bunrui of a checkout.

    with Worker("imdb", threads=2, checkout=Path("../old")) as worker:
        learned = worker.do("learn", "words")         # Took(seconds, processor), measured inside that process
        first = worker.do("predict", "words")         # builds the table of weights, too
        again = worker.do("predict", "words")
        share = worker.sampled("learn", "words")      # what ran on one thread alone

Several workers can wait at the same time, so that their runs can take turns.  Texts are Arrow arrays in memory.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parents[1]
PERIOD = 0.001


class Took(NamedTuple):
    """Seconds of wall clock and of processor time of one task."""

    seconds: float
    processor: float


class Sampled(NamedTuple):
    """Processor time of one task, and how much of it passed while at most one thread could run."""

    processor: float
    alone: float


class Worker:
    """The process, and the way to it: one line in, one line out."""

    def __init__(self, corpus: str, *, threads: int, checkout: Path = HERE, folder: str | None = None) -> None:
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "BUNRUI_THREADS": str(threads)}
        command = [sys.executable, __file__, corpus, *([folder] if folder else [])]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
        self.checkout = checkout
        about = self._answer()
        self.sizes: dict[str, int] = about["bytes"]
        if not Path(about["bunrui"]).is_relative_to(checkout / "src"):
            self.close()
            raise SystemExit(f"{checkout} should be a checkout of bunrui with src/bunrui in it, but has none")

    def do(self, task: str, analyzer: str) -> Took:
        """Learn, or predict with what was learned last."""
        self._tell(task, analyzer)
        return Took(*self._answer())

    def sampled(self, task: str, analyzer: str) -> Sampled:
        """The same, and look every `PERIOD` which threads could run: those in state R, on a processor or not.

        The processor time since the look before counts as alone where fewer than two could.  Threads that wait for each
        other, for Python's lock or for memory do not; those that wait for a processor do, because they would run on a
        machine with more of them.  Looking takes time on the same processors: `do` measures how long tasks take.
        """
        clock = (~self.process.pid << 3) | 2  # of the processor time of that process: clock_getcpuclockid(3)
        self._tell(task, analyzer)
        first = before = time.clock_gettime(clock)
        alone = 0.0
        while not select.select([self.process.stdout], [], [], PERIOD)[0]:
            running, now = _running(self.process.pid), time.clock_gettime(clock)
            if running < 2:
                alone += now - before
            before = now
        self._answer()
        return Sampled(before - first, alone)

    def _tell(self, *words: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process that measures {self.checkout} ended with {self.process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        """End the process: it ends where its input does."""
        self.process.communicate()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _running(pid: int) -> int:
    """How many threads of a process could run now."""
    found = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
                found += file.read().rpartition(b") ")[2][:1] == b"R"
        except OSError:  # it has ended
            continue
    return found


def work(corpus: str, folder: str | None = None) -> None:
    """Answer every line of standard input."""
    import corpora

    import bunrui

    data = corpora.load(corpus, folder)
    texts = {"learn": data.train["text"].chunk(0), "predict": data.test["text"].chunk(0)}
    labels = data.train["label"].chunk(0)
    sizes = {task: corpora.n_bytes(array) for task, array in texts.items()}
    print(json.dumps({"bunrui": str(Path(bunrui.__file__).resolve()), "bytes": sizes}), flush=True)
    clf = bunrui.TextClassifier()
    for line in sys.stdin:
        task, analyzer = line.split()
        if task == "learn":
            clf = bunrui.TextClassifier(analyzer=analyzer)
        started, used = time.perf_counter(), time.process_time()
        if task == "learn":
            clf.learn(texts[task], labels)
        else:
            clf.predict(texts[task])
        print(json.dumps([time.perf_counter() - started, time.process_time() - used]), flush=True)


if __name__ == "__main__":
    work(*sys.argv[1:])
