"""Many classes: memory and time of every step, with generated documents.

    python benchmarks/classes.py [--classes 5000] [--features 20000] [--documents 15000] [--model binary-complement ...]
                                 [--estimators] [--peer] [--no-store] [--json]
    python benchmarks/classes.py --classes 100000 --features 1000000 --documents 2000000 --no-store

A document has 50 words: half from the 200 words of its class, half from the pool of all words, both by Zipf's law with
exponent 1.1.  Every model runs in a process of its own; memory is the peak of the step above the size after importing.
`--estimators` runs the matrix estimators on the same documents, `--peer` scikit-learn's (3.8 GB for 5,000 × 20,000).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import stopwatch

WORDS = 50
OWN_WORDS = 200
EXPONENT = 1.1
BATCH = 20_000
ROUNDS = 30

Integers = npt.NDArray[np.int64]


class Size(NamedTuple):
    """How much there is."""

    classes: int
    features: int
    documents: int


class Drawn(NamedTuple):
    """Documents: `words[d]` are numbers of words."""

    words: Integers  # (n_docs, WORDS)
    classes: Integers  # (n_docs,)

    def texts(self) -> pa.Array:
        """The same as text: a word is its number in six letters."""
        places = 26 ** np.arange(5, -1, -1)
        letters = np.full((*self.words.shape, 7), ord(" "), np.uint8)
        letters[..., :6] = ord("a") + self.words[..., None] // places % 26
        offsets = np.arange(len(self.words) + 1, dtype=np.int32) * (7 * WORDS)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
        return pa.StringArray.from_buffers(len(self.words), *buffers[1:])

    def labels(self) -> pa.Array:
        """The names of the classes."""
        return pa.array([f"c{c:06d}" for c in self.classes.tolist()])

    def matrix(self, n_features: int) -> Any:
        """The same as counts by word."""
        from scipy import sparse

        starts = np.arange(len(self.words) + 1) * WORDS
        ones = np.ones(self.words.size, np.int64)
        out = sparse.csr_matrix((ones, self.words.reshape(-1), starts), shape=(len(self.words), n_features))
        out.sum_duplicates()
        return out


def zipf(n: int) -> npt.NDArray[np.float64]:
    """The share of the first k of n words, for every k."""
    shares = np.cumsum(np.arange(1, n + 1) ** -EXPONENT)
    return np.asarray(shares / shares[-1])


def draw(size: Size, n_docs: int, seed: int) -> Iterator[Drawn]:
    """Batches of documents; classes come in turn, so that all of them have some."""
    pool, own = zipf(size.features), zipf(min(OWN_WORDS, size.features))
    for first in range(0, n_docs, BATCH):
        rng = np.random.default_rng([seed, first])
        n = min(BATCH, n_docs - first)
        classes = (first + np.arange(n)) % size.classes
        words = np.searchsorted(pool, rng.random((n, WORDS)))
        ranks = np.searchsorted(own, rng.random((n, WORDS)))
        # Which words are a class's own is a hash of the class and the rank.
        mixed = (classes[:, None].astype(np.uint64) << np.uint64(20) | ranks.astype(np.uint64)) + np.uint64(1)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mine = ((mixed >> np.uint64(20)) % np.uint64(size.features)).astype(np.int64)
        yield Drawn(np.where(rng.random((n, WORDS)) < 0.5, mine, words), classes)


class Steps:
    """Rows of the report: seconds, and the peak of memory above where it started."""

    def __init__(self) -> None:
        stopwatch.reset_peak_rss()
        self._start = stopwatch.peak_rss()
        self.rows: list[dict[str, Any]] = []

    def once(self, name: str, work: Callable[[], object]) -> Any:
        """One call."""
        stopwatch.reset_peak_rss()
        started = time.perf_counter()
        value = work()
        self.add(name, time.perf_counter() - started)
        return value

    def each(
        self, name: str, works: list[Callable[[], object]], between: Callable[[int], object] | None = None
    ) -> None:
        """The median of some calls, with something else before each."""
        stopwatch.reset_peak_rss()
        took = []
        for k, work in enumerate(works):
            if between is not None:
                between(k)
            started = time.perf_counter()
            work()
            took.append(time.perf_counter() - started)
        self.add(name, statistics.median(took))

    def add(self, name: str, seconds: float) -> None:
        peak = (stopwatch.peak_rss() - self._start) / 1e6
        self.rows.append({"step": name, "ms": seconds * 1e3, "peak MB": peak})


def run_texts(size: Size, model: str, stores: bool) -> list[dict[str, Any]]:
    """`TextClassifier`, in memory and in a file."""
    import bunrui
    from bunrui import TextClassifier

    warm_up(TextClassifier(model, analyzer="words"))
    test = next(draw(size, 1000, seed=2))
    texts, labels = test.texts(), test.labels()
    one = [texts[k].as_py() for k in range(ROUNDS)]
    label = [labels[k].as_py() for k in range(ROUNDS)]
    steps = Steps()
    clf = TextClassifier(model, analyzer="words")
    busy = 0.0
    for batch in draw(size, size.documents, seed=1):
        batch_texts, batch_labels = batch.texts(), batch.labels()
        started = time.perf_counter()
        clf.learn(batch_texts, batch_labels)
        busy += time.perf_counter() - started
    steps.add("learn all", busy)
    steps.rows[-1]["cells"] = clf.counts.n_cells
    steps.once("first predict", lambda: clf.predict(one[:1]))
    steps.each("learn one", [lambda k=k: clf.learn([one[k]], [label[k]]) for k in range(ROUNDS)])

    def learn(k: int) -> None:
        clf.learn([one[k]], [label[k]])

    steps.each("predict one after learning", [lambda k=k: clf.predict([one[k]]) for k in range(ROUNDS)], learn)
    steps.each("predict one", [lambda k=k: clf.predict([one[k]]) for k in range(ROUNDS)])
    found = steps.once("predict 1,000", lambda: clf.predict(texts))
    steps.rows[-1]["accuracy"] = float(np.mean(found == np.array(labels.to_pylist())))
    steps.once("predict 1,000 again", lambda: clf.predict(texts))
    steps.each("predict one, table made", [lambda k=k: clf.predict([one[k]]) for k in range(ROUNDS)])
    steps.each("predict_proba one", [lambda k=k: clf.predict_proba([one[k]]) for k in range(ROUNDS)])
    steps.each("explain one", [lambda k=k: clf.explain(one[k]) for k in range(3)])
    steps.once("words of a label", lambda: clf.words(label[0]))
    steps.each("unlearn one", [lambda k=k: clf.unlearn([one[k]], [label[k]]) for k in range(ROUNDS)])
    if stores:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "many.bunrui")

            def create() -> None:
                with bunrui.create(path, model=model, analyzer="words", keep="nothing") as stored:
                    stored.merge(clf)

            steps.once("write a file", create)
            opened = steps.once("open it", lambda: bunrui.open(path))
            steps.each("learn one in the file", [lambda k=k: opened.learn([one[k]], [label[k]]) for k in range(5)])
            steps.each("predict one from the file", [lambda k=k: opened.predict([one[k]]) for k in range(ROUNDS)])
            opened.close()
    return steps.rows


def run_matrix(size: Size, module: str, name: str) -> list[dict[str, Any]]:
    """An estimator on matrices: ours, or scikit-learn's."""
    import importlib

    estimator = getattr(importlib.import_module(module), name)()
    if module == "bunrui":
        from bunrui import TextClassifier

        warm_up(TextClassifier(analyzer="words"))
    rounds = ROUNDS if module == "bunrui" else 3
    test = next(draw(size, 1000, seed=2))
    rows = test.matrix(size.features)
    batches = [(batch.matrix(size.features), batch.classes) for batch in draw(size, size.documents, seed=1)]
    one = [rows[k : k + 1] for k in range(rounds)]
    label = [test.classes[k : k + 1] for k in range(rounds)]
    steps = Steps()

    def fit() -> None:
        for k, (X, y) in enumerate(batches):
            estimator.partial_fit(X, y, **({"classes": np.arange(size.classes)} if k == 0 else {}))

    def learn(k: int) -> None:
        estimator.partial_fit(one[k], label[k])

    steps.once("partial_fit all", fit)
    steps.once("first predict", lambda: estimator.predict(one[0]))
    steps.each("partial_fit one", [lambda k=k: learn(k) for k in range(rounds)])
    steps.each("predict one after learning", [lambda k=k: estimator.predict(one[k]) for k in range(rounds)], learn)
    steps.each("predict one", [lambda k=k: estimator.predict(one[k]) for k in range(rounds)])
    found = steps.once("predict 1,000", lambda: estimator.predict(rows))
    steps.rows[-1]["accuracy"] = float(np.mean(found == test.classes))
    steps.each("predict_proba one", [lambda k=k: estimator.predict_proba(one[k]) for k in range(rounds)])
    return steps.rows


def warm_up(clf: Any) -> None:
    """Load the kernels, and what they import."""
    texts = [" ".join(f"w{k + j}" for j in range(100)) for k in range(300)]
    clf.learn(texts, [f"c{k}" for k in range(300)])
    clf.predict(texts)
    clf.learn(texts[:1], ["c1"]).predict(texts[:1])
    clf.explain(texts[0])
    clf.words("c1")
    clf.unlearn(texts[:1], ["c1"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", type=int, default=5_000)
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--documents", type=int, default=15_000)
    parser.add_argument("--model", nargs="*", default=["binary-complement", "multinomial"])
    parser.add_argument("--estimators", action="store_true")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--no-store", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    size = Size(options.classes, options.features, options.documents)
    reports = {f"TextClassifier({model!r})": (run_texts, model, not options.no_store) for model in options.model}
    if options.estimators:
        reports |= {name: (run_matrix, "bunrui", name) for name in ("MultinomialNB", "ComplementNB")}
    if options.peer:
        reports["scikit-learn's MultinomialNB"] = (run_matrix, "sklearn.naive_bayes", "MultinomialNB")
    done = {}
    for name, (run, *arguments) in reports.items():
        done[name] = stopwatch.isolated(run, size, *arguments)
        if not options.json:
            show(name, size, done[name])
    if options.json:
        print(json.dumps({"size": size._asdict(), "rows": done}))


def show(name: str, size: Size, rows: list[dict[str, Any]]) -> None:
    print(f"{name}: {size.classes:,} classes × {size.features:,} features, {size.documents:,} documents")
    for row in rows:
        more = "".join(f"  {key} {value:,g}" for key, value in row.items() if key not in ("step", "ms", "peak MB"))
        print(f"  {row['step']:28} {row['ms']:12,.3f} ms   {row['peak MB']:8,.1f} MB{more}")


if __name__ == "__main__":
    main()
