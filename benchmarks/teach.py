"""Simulated teaching: answers that the queue and a random order need, and whether the live estimate is honest.

    python benchmarks/teach.py [--corpora trec,banking77] [--runs 5] [--most 4000] [--estimates 40]
    python benchmarks/teach.py --keys

Each run teaches a new classifier from at most 20,000 training texts, whose labels are the answers, and measures it on
the test set.  "Needed" is the number of answers after which the accuracy stays above 90 % of that of the whole training
set for three marks, a twelfth apart; the median of all runs.

The estimate is the other half: a queue over 2,000 texts at random, 200 answers, and at 50, 100 and 200 of them the
accuracy of the present classifier on all 2,000, each text that it has learned predicted by all others.  That is inside
the interval of 95 % in so many of the runs.  A forecast says how many answers an accuracy takes that the run reaches
later; it holds if that is inside its range of 90 %.

With --keys: how long a client waits for the next question of a queue over 100,000 documents, while its last answer is
being learned, and for one prediction, in turns.  The page shows questions that it has asked for before, so that a key
waits for neither.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import corpora
import httpx
import numpy as np
from service import TOKEN, bunrui_server, free_port

import bunrui
from bunrui import TextClassifier
from bunrui.evaluation.loo import predict_without
from bunrui.selection import Queue, queue

CORPORA = "20news,banking77,waimai,nsmc,trec"
MARKS = sorted({int(20 * (13 / 12) ** k) for k in range(90)})
STAYS = 3
CHECKED = (50, 100, 200)

Texts = tuple[list[str], list[str]]


class Run(NamedTuple):
    """Test accuracy by number of answers."""

    points: list[tuple[int, float]]

    def needed(self, wish: float) -> float:
        """Answers until the wish is reached, and stays so; infinite where it is not."""
        above = [accuracy >= wish for _, accuracy in self.points]
        return next(
            (float(n) for k, (n, _) in enumerate(self.points) if all(above[k : k + STAYS])),
            float("inf"),
        )


def draw(train: Texts, seed: int, most: int) -> Texts:
    """Some of the training texts, each once, in a random order.

    They end with six blanks that no analyzer reads, others in each run: with the same digests, each run would ask for
    the same documents at random.
    """
    rows = random.Random(seed).sample(range(len(train[0])), min(most, len(train[0])))
    blanks = "".join(" \n\t"[seed // 3**k % 3] for k in range(6))
    pool = {train[0][row] + blanks: train[1][row] for row in rows}
    return list(pool), list(pool.values())


def teach(train: Texts, test: Texts, seed: int, most: int, wish: float, *, by_queue: bool) -> Run:
    """Teach until the wish is reached and stays so, or there are enough answers."""
    pool, truth = draw(train, seed, 20_000)
    clf, run = TextClassifier(), Run([])
    asked: Any = queue(clf, pool) if by_queue else range(len(pool))
    for n, question in enumerate(asked, 1):
        if by_queue:
            asked.answer(question, truth[question.row])
        else:
            clf.learn([pool[question]], [truth[question]])
        if n in MARKS:
            run.points.append((n, clf.score(*test)))
            if all(accuracy >= wish for _, accuracy in run.points[-STAYS:]) and len(run.points) >= STAYS:
                break
        if n >= most:
            break
    return run


def true_accuracy(asked: Queue, pool: list[str], truth: list[str]) -> float:
    """The accuracy on the whole pool, each text that was learned predicted by all others."""
    clf = asked.classifier
    left = [row for row in range(len(pool)) if row not in asked.answers]
    right = clf.score([pool[row] for row in left], [truth[row] for row in left]) * len(left)
    rows = list(asked.answers)
    found = predict_without(clf, [pool[row] for row in rows], [truth[row] for row in rows])
    return float(right + sum(label == truth[row] for label, row in zip(found, rows, strict=True))) / len(pool)


class Checks(NamedTuple):
    """How often estimates and forecasts held."""

    inside: dict[int, list[bool]]
    widths: list[float]
    forecasts: list[bool]


def check_estimates(train: Texts, n_runs: int) -> Checks:
    """Estimates of many runs against the truth."""
    checks = Checks({n: [] for n in CHECKED}, [], [])
    for seed in range(n_runs):
        pool, truth = draw(train, seed, 2000)
        asked = queue(TextClassifier(), pool)
        reached: dict[int, float] = {}
        curve = None
        for question in asked:
            asked.answer(question, truth[question.row])
            n = len(asked.answers)
            if n in CHECKED:
                estimate, reached[n] = asked.estimate(), true_accuracy(asked, pool, truth)
                low, high = estimate.interval
                checks.inside[n].append(low <= reached[n] <= high)
                checks.widths.append(high - low)
                if n == CHECKED[1]:
                    curve = asked.curve()
            if n >= CHECKED[-1]:
                break
        forecast = curve and curve.forecast(reached[CHECKED[-1]])
        if forecast:
            more = CHECKED[-1] - CHECKED[1]
            checks.forecasts.append(forecast.low <= more and (forecast.high is None or more <= forecast.high))
    return checks


def time_keys(n_docs: int = 100_000, n_keys: int = 200) -> None:
    """Print how long a question, an answer and a prediction take."""
    draw = random.Random(0)
    words = [f"word{k}" for k in range(20_000)]
    texts = [" ".join(draw.choices(words, k=20)) for _ in range(n_docs)]
    path, port = os.path.join(tempfile.mkdtemp(), "a.bunrui"), free_port()
    bunrui.create(path).close()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with (
        bunrui_server(path, port),
        httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=600) as client,
    ):
        body = "\n".join(["text", *texts]).encode()
        params = {"name": "a.csv", "labels": json.dumps(["a", "b"])}
        client.post("/v1/teach", params=params, content=body, headers={"Content-Type": "application/octet-stream"})
        while client.get("/v1/teach").json()["documents"] < n_docs:
            time.sleep(0.5)
        taken: dict[str, list[float]] = {"question": [], "answer": [], "prediction": []}

        def ask(kind: str, path: str, **body: Any) -> Any:
            started = time.perf_counter()
            found = client.post(path, json=body)
            taken[kind].append(time.perf_counter() - started)
            return found.raise_for_status().json()

        with ThreadPoolExecutor() as threads:
            (question,) = ask("question", "/v1/teach/next", client="a", n=1)["questions"]
            for k in range(n_keys):
                answer = {"digest": question["digest"], "labels": ["ab"[k % 2]]}
                learning = threads.submit(ask, "answer", "/v1/teach/answer", **answer)
                question = ask("question", "/v1/teach/next", client="a", n=2)["questions"][-1]
                learning.result()
                ask("prediction", "/v1/predict", texts=[question["text"]])
        for kind, seconds in taken.items():
            print(f"{kind:<10} {1e3 * np.median(seconds):8.2f} ms in the middle")


def main() -> None:
    """Print a line for each corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default=CORPORA)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--most", type=int, default=4000)
    parser.add_argument("--estimates", type=int, default=40)
    parser.add_argument("--keys", action="store_true")
    options = parser.parse_args()
    if options.keys:
        time_keys()
        return
    print("corpus      whole   wish   needed by the queue, at random   inside the interval   mean width  forecasts")
    for name in options.corpora.split(","):
        corpus = corpora.load(name)
        train = corpus.train["text"].to_pylist(), corpus.train["label"].to_pylist()
        test = corpus.test["text"].to_pylist()[:2000], corpus.test["label"].to_pylist()[:2000]
        whole = TextClassifier().learn(*train).score(*test)
        wish = 0.9 * whole
        needed = [
            np.median(
                [
                    teach(train, test, seed, options.most, wish, by_queue=by_queue).needed(wish)
                    for seed in range(options.runs)
                ]
            )
            for by_queue in (True, False)
        ]
        line = f"{name:<10} {whole:6.3f} {wish:6.3f}  {needed[0]:19.0f} {needed[1]:10.0f}"
        if options.estimates:
            checks = check_estimates(train, options.estimates)
            inside = [each for found in checks.inside.values() for each in found]
            line += f"   {np.mean(inside):9.1%} of {len(inside):4}   {np.mean(checks.widths):9.3f}"
            line += f"   {sum(checks.forecasts)} of {len(checks.forecasts)} hold"
        print(line, flush=True)


if __name__ == "__main__":
    main()
