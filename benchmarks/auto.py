"""What `model="auto"` gains, what it costs, and whether its probabilities come true.

    python benchmarks/auto.py [--corpora banking77,trec] [--old CHECKOUT] [--repeats 5] [--json]
    python benchmarks/auto.py --splits 20 --corpora trec,trec_fine

Every corpus has its training set learned once, by default settings; the test set is asked once at the end.

    plain      accuracy of binary-complement, the plain default
    auto       of what `auto` has chosen by the training set
    best       of the candidate that is best on the test set: nobody can know it
    ECE        expected calibration error of `auto` on the test set, with no further command
    noise      the same of labels that are drawn from the very probabilities: what so many documents cannot tell
    adds       processor time of learning with `auto`, less that of learning with the plain default, over the time that
               a checkout of another version (--old) takes to learn, in memory and into a file that keeps texts

Corpora of fewer than 1,000 test documents are pooled for the ECE.

With --splits, whether a test set has other documents than its training set: the official split beside random splits
of both together, with test sets of the same size.  For each: the accuracy by leave-one-out and on the test set, the
mean probability of the answers, ECE and noise.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

import corpora
import numpy as np
import pyarrow as pa

import bunrui
from bunrui import TextClassifier
from bunrui.choice import CANDIDATES, PLAIN
from bunrui.evaluation import leave_one_out
from bunrui.reliability import calibration_error, reliability

_FEW = 1000
_DRAWS = 200

_LEARN = """
import sys, time, tempfile, os
sys.path.insert(0, {benchmarks!r})
import corpora, bunrui
train = corpora.load({name!r}).train
texts, labels = train["text"].combine_chunks(), train["label"].combine_chunks()
ways = [(options, is_file) for options in {settings!r} for is_file in (False, True)]
best = [1e9] * len(ways)
for _ in range({repeats}):
    for k, (options, is_file) in enumerate(ways):
        with tempfile.TemporaryDirectory() as folder:
            clf = bunrui.create(os.path.join(folder, "a"), **options) if is_file else bunrui.TextClassifier(**options)
            started = time.process_time()
            clf.learn(texts, labels)
            best[k] = min(best[k], time.process_time() - started)
            if is_file:
                clf.close()
print(*best)
"""


def learning_times(name: str, source: str, repeats: int, *settings: dict[str, Any]) -> list[float]:
    """Processor seconds of learning in memory and into a file, by the version in a folder: the least of some repeats.

    Several settings take turns in one process: memory that is fresh for all of them, or for none, costs them the same.
    """
    program = _LEARN.format(benchmarks=os.path.dirname(__file__), name=name, repeats=repeats, settings=settings)
    env = os.environ | {"PYTHONPATH": source}
    done = subprocess.run([sys.executable, "-c", program], env=env, check=True, capture_output=True, text=True)
    return [float(number) for number in done.stdout.split()]


def noise_of(sure: Any) -> float:
    """The mean ECE where answers are right as often as their probabilities say."""
    rng = np.random.default_rng(0)
    return float(np.mean([ece_of(rng.random(len(sure)) < sure, sure) for _ in range(_DRAWS)]))


def ece_of(right: Any, sure: Any) -> float:
    """The expected calibration error."""
    return calibration_error(reliability(right, sure))


def learn(corpus: corpora.Corpus) -> tuple[TextClassifier, Any, Any]:
    """The default classifier of a training set; its probabilities on the test set, and whether each answer is right."""
    clf = TextClassifier().learn(corpus.train["text"], corpus.train["label"])
    shares = clf.predict_proba(corpus.test["text"])
    right = clf.classes_[shares.argmax(axis=1)] == np.array(corpus.test["label"].to_pylist())
    return clf, shares, right


def random_split(corpus: corpora.Corpus, seed: int) -> corpora.Corpus:
    """Training and test set together, cut at random where the official border is."""
    both = pa.concat_tables([corpus.train, corpus.test])
    both = both.take(np.random.default_rng(seed).permutation(both.num_rows)).combine_chunks()
    border = corpus.train.num_rows
    return corpora.Corpus(corpus.name, both.slice(0, border), both.slice(border), f"random, seed {seed}")


def compare_splits(names: list[str], n_splits: int) -> None:
    """The official split, each random one, and the means of the random ones; last, all corpora pooled."""
    say(f"{'corpus':12}{'split':17}{'LOO':>8}{'test':>8}{'sure':>8}{'ECE':>8}{'noise':>8}")
    pooled: list[list[Any]] = [[] for _ in range(n_splits + 1)]
    for name in names:
        official = corpora.load(name)
        splits = [official, *(random_split(official, seed) for seed in range(n_splits))]
        rows = []
        for k, split in enumerate(splits):
            clf, shares, right = learn(split)
            sure = shares.max(axis=1)
            pooled[k].append((right, sure))
            loo = leave_one_out(clf, split.train["text"], split.train["label"]).metrics.accuracy
            rows.append([loo, float(right.mean()), float(sure.mean()), ece_of(right, sure), noise_of(sure)])
            say_numbers(name, split.split, rows[-1])
        say_numbers(name, "random, mean", np.mean(rows[1:], axis=0))
        say_numbers(name, "random, deviation", np.std(rows[1:], axis=0, ddof=1))
    both = [[np.concatenate(column) for column in zip(*parts, strict=True)] for parts in pooled]
    errors = [[ece_of(right, sure), noise_of(sure)] for right, sure in both]
    say(f"pooled: ECE and noise {np.round(errors[0], 4)} official, {np.mean(errors[1:], axis=0).round(4)} random")


def say_numbers(name: str, what: str, numbers: Any) -> None:
    """A line of a table."""
    say(f"{name:12}{what:17}" + "".join(f"{number:8.4f}" for number in numbers))


def measure(name: str) -> tuple[dict[str, Any], Any, Any]:
    """A row, and the probabilities of the test set with whether each answer is right."""
    corpus = corpora.load(name)
    clf, shares, right = learn(corpus)
    true, texts = corpus.test["label"].to_pylist(), corpus.test["text"]
    by_candidate = {
        each: float(np.mean(clf.with_model(**each._asdict()).predict(texts) == np.array(true))) for each in CANDIDATES
    }
    assert clf.model_ is not None
    best = max(by_candidate, key=by_candidate.__getitem__)
    sure = shares.max(axis=1)
    row = {
        "corpus": name,
        "documents": len(true),
        "plain": by_candidate[PLAIN],
        "auto": float(right.mean()),
        "best": by_candidate[best],
        "chosen": clf.model_.candidate.describe(),
        "line": clf.model_.describe(),
        "best_candidate": best.describe(),
        "ece": ece_of(right, sure),
        "noise": noise_of(sure),
    }
    return row, sure, right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default=",".join(corpora.CORPORA))
    parser.add_argument("--old", help="the folder of a checkout of another version, with compiled kernels")
    parser.add_argument("--timed", default="20news,imdb,banking77")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--splits", type=int, metavar="N", help="compare the official split with N random ones")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    names = [name for name in options.corpora.split(",") if name]
    if options.splits:
        compare_splits(names, options.splits)
        return
    rows, sure, right = [], [], []
    for name in names:
        row, shares, is_right = measure(name)
        if row["documents"] < _FEW:
            sure.append(shares)
            right.append(is_right)
        rows.append(row)
        if not options.json:
            numbers = "".join(f"{row[what]:8.4f}" for what in ("plain", "auto", "best", "ece", "noise"))
            say(f"{name:16}{numbers}  {row['chosen']} (best: {row['best_candidate']})")
    summary: dict[str, Any] = {}
    if rows:
        plain, auto, best = (np.array([row[what] for row in rows]) for what in ("plain", "auto", "best"))
        summary = {
            "gain": float((auto - plain).mean()),
            "possible": float((best - plain).mean()),
            "share": float((auto - plain).sum() / max((best - plain).sum(), 1e-9)),
            "worst": float((auto - plain).min()),
        }
    if sure:
        pooled = np.concatenate(sure)
        summary |= {"pooled_ece": ece_of(np.concatenate(right), pooled), "pooled_noise": noise_of(pooled)}
    times = []
    for name in options.timed.split(",") if options.old else ():
        here = os.path.dirname(os.path.dirname(bunrui.__file__))
        started = time.perf_counter()
        old = learning_times(name, os.path.join(options.old, "src"), options.repeats, {})
        times_here = learning_times(name, here, options.repeats, {}, {"model": PLAIN.model})
        auto_times, plain_times = times_here[:2], times_here[2:]
        adds = [(a - p) / o for a, p, o in zip(auto_times, plain_times, old, strict=True)]
        times.append({"corpus": name, "old": old, "auto": auto_times, "plain": plain_times, "adds": adds})
        if not options.json:
            say(
                f"{name:16}old {old[0]:.3f} {old[1]:.3f} s, auto adds {adds[0]:.2f} in memory, {adds[1]:.2f} in a file "
                f"({time.perf_counter() - started:.0f} s)"
            )
    if options.json:
        say(json.dumps({"rows": rows, "summary": summary, "times": times}))
    else:
        say("; ".join(f"{name} {value:.4f}" for name, value in summary.items()))


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
