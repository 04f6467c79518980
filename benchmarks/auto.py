"""What `model="auto"` gains, what it costs, and whether its probabilities come true.

    python benchmarks/auto.py [--corpora banking77,trec] [--old CHECKOUT] [--repeats 5] [--json]

Every corpus has its training set learned once, by default settings; the test set is asked once at the end.

    plain      accuracy of binary-complement, the plain default
    auto       of what `auto` has chosen by the training set
    best       of the candidate that is best on the test set: nobody can know it
    ECE        expected calibration error of `auto` on the test set, with no further command
    noise      the same of labels that are drawn from the very probabilities: what so many documents cannot tell
    adds       processor time of learning with `auto`, less that of learning with the plain default, over the time that
               a checkout of another version (--old) takes to learn, in memory and into a file that keeps texts

Corpora of fewer than 1,000 test documents are pooled for the ECE.
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

import bunrui
from bunrui import TextClassifier
from bunrui.choice import CANDIDATES, PLAIN
from bunrui.evaluation import Evaluation

_FEW = 1000
_DRAWS = 200

_LEARN = """
import sys, time, tempfile, os
sys.path.insert(0, {benchmarks!r})
import corpora, bunrui
train = corpora.load({name!r}).train
texts, labels = train["text"].combine_chunks(), train["label"].combine_chunks()
best = [1e9, 1e9]
for _ in range({repeats}):
    for k in range(2):
        with tempfile.TemporaryDirectory() as folder:
            options = {options!r}
            clf = bunrui.create(os.path.join(folder, "a"), **options) if k else bunrui.TextClassifier(**options)
            started = time.process_time()
            clf.learn(texts, labels)
            best[k] = min(best[k], time.process_time() - started)
            if k:
                clf.close()
print(*best)
"""


def learning_times(name: str, source: str, repeats: int, **options: Any) -> list[float]:
    """Processor seconds of learning in memory and into a file, by the version in a folder."""
    program = _LEARN.format(benchmarks=os.path.dirname(__file__), name=name, repeats=repeats, options=options)
    env = os.environ | {"PYTHONPATH": source}
    done = subprocess.run([sys.executable, "-c", program], env=env, check=True, capture_output=True, text=True)
    return [float(number) for number in done.stdout.split()]


def noise_of(shares: Any) -> float:
    """The mean ECE where labels are drawn from the probabilities themselves."""
    rng = np.random.default_rng(0)
    sure, found = shares.max(axis=1), []
    for _ in range(_DRAWS):
        found.append(ece_of(rng.random(len(sure)) < sure, sure))
    return float(np.mean(found))


def ece_of(right: Any, sure: Any) -> float:
    """The expected calibration error."""
    from bunrui.reliability import calibration_error, reliability

    return calibration_error(reliability(right, sure))


def measure(name: str) -> tuple[dict[str, Any], Any, Any]:
    """A row, and the probabilities of the test set with whether each answer is right."""
    corpus = corpora.load(name)
    clf = TextClassifier().learn(corpus.train["text"], corpus.train["label"])
    true, texts = corpus.test["label"].to_pylist(), corpus.test["text"]
    shares = clf.predict_proba(texts)
    right = clf.classes_[shares.argmax(axis=1)] == np.array(true)
    by_candidate = {
        each: float(np.mean(clf.with_model(**each._asdict()).predict(texts) == np.array(true))) for each in CANDIDATES
    }
    assert clf.model_ is not None
    best = max(by_candidate, key=by_candidate.__getitem__)
    found = Evaluation(true=true, predictions=clf.predict(texts), probabilities=shares, classes=clf.classes_)
    row = {
        "corpus": name,
        "documents": len(true),
        "plain": by_candidate[PLAIN],
        "auto": float(right.mean()),
        "best": by_candidate[best],
        "chosen": clf.model_.candidate.describe(),
        "line": clf.model_.describe(),
        "best_candidate": best.describe(),
        "ece": found.ece,
        "noise": noise_of(shares),
    }
    return row, shares.max(axis=1), right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default=",".join(corpora.CORPORA))
    parser.add_argument("--old", help="the folder of a checkout of another version, with compiled kernels")
    parser.add_argument("--timed", default="20news,imdb,banking77")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    names = [name for name in options.corpora.split(",") if name]
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
        both = np.stack([pooled, 1 - pooled], axis=1)
        summary |= {"pooled_ece": ece_of(np.concatenate(right), pooled), "pooled_noise": noise_of(both)}
    times = []
    for name in options.timed.split(",") if options.old else ():
        here = os.path.dirname(os.path.dirname(bunrui.__file__))
        started = time.perf_counter()
        old = learning_times(name, os.path.join(options.old, "src"), options.repeats)
        auto_times = learning_times(name, here, options.repeats)
        plain_times = learning_times(name, here, options.repeats, model=PLAIN.model)
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
