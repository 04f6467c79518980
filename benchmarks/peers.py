r"""The peers, one small class each behind one protocol, and the stopwatch they share.

    peer = ScikitLearn("words")       # "words": \w+, "words2": word 1-2-grams, "ja": character n-grams
    peer.available()                  # None, or the reason why not
    peer.prepare(texts, labels)       # not timed: what a user of that tool has on disk already
    peer.learn(texts, labels)         # timed: list[str] in, a model that can answer out
    peer.predict(texts)               # timed: list[str] in, list[str] of labels out

Measured: seconds of wall clock from strings to a model and from strings to labels, and the peak of resident memory.
Not measured: importing, reading the corpus, `prepare`, and saving or loading a model.
Every trial runs in a fresh process, and reports the best of `repeats` runs, which the row states.

A new peer is a subclass of `Peer` with `name`, `learn` and `predict`, added to `PEERS`. `takes` says what it is fed:
"list" (list[str]), "arrow" (pyarrow.StringArray for texts and labels) or "parquet" (the path of a Parquet file with the
columns label and text, and None for the labels; zstd, 4,096 rows a group).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import multiprocessing
import os
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import corpora
import pyarrow as pa
import pyarrow.parquet as pq

T = TypeVar("T")
FEATURES = ("words", "words2", "ja")


class Peer:
    """What every peer answers to.

    `threads` are those of learning and of predicting. `limit_mb` caps the bytes of a slow peer: it gets every k-th
    document, and the row says so. `note` is what a reader of the row must know.
    """

    name = ""
    module = ""
    distribution = ""
    threads: tuple[str, str] = ("1", "1")
    takes = "list"
    supports: tuple[str, ...] = ("words", "words2")
    predicts = True
    note = ""
    limit_mb: float | None = None

    def __init__(self, features: str = "words") -> None:
        if features not in FEATURES:
            raise ValueError(f"features is one of {', '.join(FEATURES)}, not {features!r}")
        self.features = features

    def available(self) -> str | None:
        """None when it can run, otherwise why it cannot."""
        if self.features not in self.supports:
            return f"{self.name} has no equal of {self.features!r}"
        if importlib.util.find_spec(self.module) is None:
            return f"{self.module} is not installed: pip install {self.distribution}"
        return None

    def version(self) -> str | None:
        """The installed version, or None."""
        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return None

    def prepare(self, texts: Any, labels: Any) -> None:
        """Bring the training data into the tool's own format; not timed. Imports the tool, too."""
        importlib.import_module(self.module)

    def learn(self, texts: Any, labels: Any) -> None:
        """From texts to a model that can predict."""
        raise NotImplementedError

    def predict(self, texts: Any) -> list[str]:
        """From texts to labels."""
        raise NotImplementedError


class ScikitLearn(Peer):
    r"""CountVectorizer and MultinomialNB(alpha=1): lower case, `\w+`; for "ja" `char_wb`, n-grams with word edges."""

    name = "scikit-learn"
    module = "sklearn"
    distribution = "scikit-learn"
    supports = FEATURES

    def __init__(self, features: str = "words", char_ngrams: tuple[int, int] = (2, 3)) -> None:
        super().__init__(features)
        self.char_ngrams = char_ngrams

    def prepare(self, texts: Any, labels: Any) -> None:
        """Only the imports."""
        import sklearn.feature_extraction.text
        import sklearn.naive_bayes  # noqa: F401

    def learn(self, texts: list[str], labels: list[str]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.naive_bayes import MultinomialNB
        from sklearn.pipeline import make_pipeline

        if self.features == "ja":
            vectorizer = CountVectorizer(analyzer="char_wb", ngram_range=self.char_ngrams)
        else:
            vectorizer = CountVectorizer(token_pattern=r"\w+", ngram_range=(1, 2 if self.features == "words2" else 1))
        self.model = make_pipeline(vectorizer, MultinomialNB(alpha=1.0)).fit(texts, labels)

    def predict(self, texts: list[str]) -> list[str]:
        return list(self.model.predict(texts).tolist())


class FastText(Peer):
    """Supervised training with the defaults (5 epochs, 100 dimensions), wordNgrams=2 for "words2".

    fastText splits at white space only and keeps case. Its training file is written by `prepare`; line breaks become
    spaces. Threads: one a core instead of its default of twelve. Prediction takes the whole list in one call.
    """

    name = "fastText"
    module = "fasttext"
    distribution = "fasttext-numpy2-wheel"
    threads = ("all", "1")
    note = "white space; learns from its file"
    lines = str.maketrans({"\n": " ", "\r": " "})

    def prepare(self, texts: list[str], labels: list[str]) -> None:
        """Write the training file; labels are numbered, because one with a space would be cut."""
        super().prepare(texts, labels)
        self.labels = sorted(set(labels))
        number = {label: i for i, label in enumerate(self.labels)}
        self.folder = tempfile.TemporaryDirectory()
        self.file = str(Path(self.folder.name) / "train.txt")
        with open(self.file, "w", encoding="utf-8") as file:
            for text, label in zip(texts, labels, strict=True):
                file.write(f"__label__{number[label]} {text.translate(self.lines)}\n")

    def learn(self, texts: list[str], labels: list[str]) -> None:
        import fasttext

        n = 2 if self.features == "words2" else 1
        self.model = fasttext.train_supervised(self.file, wordNgrams=n, thread=os.cpu_count() or 1, verbose=0)

    def predict(self, texts: list[str]) -> list[str]:
        answers, _ = self.model.predict([text.translate(self.lines) for text in texts])
        return [self.labels[int(answer[0].removeprefix("__label__"))] for answer in answers]


class River(Peer):
    r"""BagOfWords (`\w+`, accents kept) and MultinomialNB, one document at a time, on a sample of 2 MB: it is slow.

    The rate is that of the sample, and so is the accuracy: it is not to be compared with that of the others.
    """

    name = "river"
    module = "river"
    distribution = "river"
    limit_mb = 2.0

    def prepare(self, texts: Any, labels: Any) -> None:
        """Only the imports."""
        import river.feature_extraction
        import river.naive_bayes  # noqa: F401

    def learn(self, texts: list[str], labels: list[str]) -> None:
        from river import feature_extraction, naive_bayes

        ngrams = (1, 2 if self.features == "words2" else 1)
        words = feature_extraction.BagOfWords(tokenizer_pattern=r"\w+", strip_accents=False, ngram_range=ngrams)
        self.model = words | naive_bayes.MultinomialNB(alpha=1.0)
        for text, label in zip(texts, labels, strict=True):
            self.model.learn_one(text, label)

    def predict(self, texts: list[str]) -> list[str]:
        return [self.model.predict_one(text) for text in texts]


class VowpalWabbit(Peer):
    """One against all (`--oaa`), logistic loss, one pass; `--ngram 2` for "words2". 2**18 slots, the default, or 2**22.

    It splits at white space only and keeps case; its special characters and line breaks become spaces. It learns from
    its training file, written by `prepare`: a thread parses while another learns, 130-190 MB/s on IMDB where a call a
    line gives 72 and the same model. Prediction is a call a document, clearing its special characters included.
    """

    name = "Vowpal Wabbit"
    module = "vowpalwabbit"
    distribution = "vowpalwabbit"
    threads = ("2", "1")
    note = "white space; learns from its file"
    plain = str.maketrans({":": " ", "|": " ", "\n": " ", "\r": " "})

    def prepare(self, texts: list[str], labels: list[str]) -> None:
        """Write the training file, lines of `number | text`."""
        super().prepare(texts, labels)
        self.labels = sorted(set(labels))
        number = {label: i for i, label in enumerate(self.labels, 1)}
        self.folder = tempfile.TemporaryDirectory()
        self.file = str(Path(self.folder.name) / "train.vw")
        with open(self.file, "w", encoding="utf-8") as file:
            for text, label in zip(texts, labels, strict=True):
                file.write(f"{number[label]} | {text.translate(self.plain)}\n")

    def learn(self, texts: list[str], labels: list[str]) -> None:
        from vowpalwabbit import Workspace

        options = f"--oaa {len(self.labels)} --loss_function logistic --quiet --data".split()
        more = ["-b", "22", "--ngram", "2"] if self.features == "words2" else ["-b", "18"]
        self.model = Workspace(arg_list=[*options, self.file, *more])

    def predict(self, texts: list[str]) -> list[str]:
        return [self.labels[self.model.predict("| " + text.translate(self.plain)) - 1] for text in texts]


class Polars(Peer):
    r"""Counting alone: lower case, `\w+`, explode, group by label and word, with the streaming engine.

    The in-memory engine was slower in each of five pairs of runs on IMDB (medians 26 and 40 MB/s). There is no model
    and no prediction; it stands for what a data-frame engine needs to get the integers, which are scikit-learn's but
    for 7 of IMDB's 74,891 words: ½, ¾ and ³ are `\w` in Python and not in Rust.
    """

    name = "Polars"
    module = "polars"
    distribution = "polars"
    threads = ("all", "all")
    supports = ("words",)
    predicts = False
    note = "counts, no model"

    def learn(self, texts: list[str], labels: list[str]) -> None:
        import polars as pl

        words = pl.col("text").str.to_lowercase().str.extract_all(r"\w+")
        frame = pl.LazyFrame({"label": labels, "text": texts}).select("label", words).explode("text")
        self.counts = frame.group_by("label", "text").len().collect(engine="streaming")


PEERS: dict[str, type[Peer]] = {peer.name: peer for peer in (ScikitLearn, FastText, River, VowpalWabbit, Polars)}


class Timing(NamedTuple):
    """The fewest `seconds` of `repeats` calls, the `value` of the last and the peak of resident memory in the first.

    Later calls may hold the result of the one before, so that only the first says what a single call needs.
    """

    seconds: float
    repeats: int
    value: Any
    peak_rss_bytes: int


@dataclass(frozen=True)
class Trial:
    """One peer on one corpus, in a process of its own. Bytes are the UTF-8 of the texts that one run reads.

    `loaded_rss_bytes` is the resident memory with libraries and data loaded, before learning. `learn` and `predict` are
    `Timing` with their peaks; `predict` is None for who cannot. `accuracy` is on the test set.
    """

    peer: str
    corpus: str
    features: str
    threads: tuple[str, str]
    learn_bytes: int
    predict_bytes: int
    learn: Timing
    predict: Timing | None
    accuracy: float | None
    loaded_rss_bytes: int
    sample: bool
    note: str = ""


def trial(
    peer: type[Peer],
    corpus: str,
    features: str = "words",
    *,
    folder: str | None = None,
    repeats: int = 3,
    budget: float = 60.0,
) -> Trial:
    """Run a peer on a corpus in a fresh process: best of `repeats`, or of fewer once `budget` seconds are spent."""
    return isolated(_trial, peer, corpus, features, folder, repeats, budget)


def _trial(peer: type[Peer], corpus: str, features: str, folder: str | None, repeats: int, budget: float) -> Trial:
    data = corpora.load(corpus, folder)
    train, test = _sample(data.train, peer.limit_mb), _sample(data.test, peer.limit_mb)
    sampled = train.num_rows < data.train.num_rows or test.num_rows < data.test.num_rows
    learn_bytes, predict_bytes, truth = corpora.n_bytes(train), corpora.n_bytes(test), test["label"].to_pylist()
    with tempfile.TemporaryDirectory() as scratch:
        texts, labels = _feed(train, peer.takes, Path(scratch) / "train.parquet")
        queries, _ = _feed(test, peer.takes, Path(scratch) / "test.parquet")
        del data, train, test
        model = peer(features)
        model.prepare(texts, labels)
        reset_peak_rss()
        loaded = peak_rss()
        learned = best(lambda: model.learn(texts, labels), repeats, budget)
        predicted, accuracy = None, None
        if peer.predicts:
            predicted = best(lambda: model.predict(queries), repeats, budget)
            accuracy = sum(a == b for a, b in zip(predicted.value, truth, strict=True)) / len(truth)
            predicted = predicted._replace(value=None)  # not worth the way between the processes
    return Trial(
        peer=peer.name,
        corpus=corpus,
        features=features,
        threads=peer.threads,
        learn_bytes=learn_bytes,
        predict_bytes=predict_bytes,
        learn=learned,
        predict=predicted,
        accuracy=accuracy,
        loaded_rss_bytes=loaded,
        sample=sampled,
        note=peer.note,
    )


def _sample(table: pa.Table, limit_mb: float | None) -> pa.Table:
    """Every k-th document, so that about `limit_mb` remain."""
    step = 1 if limit_mb is None else max(1, round(corpora.n_bytes(table) / (limit_mb * 1e6)))
    return table if step == 1 else table.take(list(range(0, table.num_rows, step)))


def _feed(table: pa.Table, takes: str, path: Path) -> tuple[Any, Any]:
    """Texts and labels in the shape that the peer takes."""
    if takes == "list":
        return table["text"].to_pylist(), table["label"].to_pylist()
    if takes == "arrow":
        table = table.combine_chunks()
        return table["text"].chunk(0), table["label"].chunk(0)
    if takes == "parquet":
        pq.write_table(table, path, compression="zstd", row_group_size=4096)
        return str(path), None
    raise ValueError(f"takes is list, arrow or parquet, not {takes!r}")


def measure(function: Callable[..., object], *arguments: object, repeats: int = 3) -> tuple[float, int]:
    """Best seconds of `repeats` calls in a fresh process, and the peak of its resident memory in bytes.

    `function` is importable (top level of a module), as it travels to the other process by name. Everything it does is
    timed, reading included; `trial` is the one that keeps loading apart.
    """
    return isolated(_measure, function, arguments, repeats)


def _measure(function: Callable[..., object], arguments: tuple[object, ...], repeats: int) -> tuple[float, int]:
    timing = best(lambda: function(*arguments), repeats)
    return timing.seconds, timing.peak_rss_bytes


def best(function: Callable[[], object], repeats: int, budget: float = float("inf")) -> Timing:
    """Call `repeats` times, or fewer once another call would pass `budget` seconds; at least once."""
    seconds: list[float] = []
    peak = 0
    reset_peak_rss()
    while not seconds or (len(seconds) < repeats and sum(seconds) + min(seconds) <= budget):
        start = time.perf_counter()
        value = function()
        seconds.append(time.perf_counter() - start)
        peak = peak or peak_rss()
    return Timing(min(seconds), len(seconds), value, peak)


def isolated(function: Callable[..., T], *arguments: object) -> T:
    """Call in a fresh Python (spawned, not forked): no memory, thread pool or compiled code left from another trial."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def peak_rss() -> int:
    """Peak of the resident memory of this process, in bytes.

    VmHWM where there is one: on Linux `ru_maxrss` survives exec, and a child of a parent with 774 MB reported 774 MB
    where VmHWM said 9.
    """
    try:
        found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        found = None
    if found:
        return int(found[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def reset_peak_rss() -> None:
    """Let the peak start again from what is resident now; where the system cannot, loading counts in the peak."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
