r"""The peers, one small class each behind one protocol; `stopwatch.py` measures them.

    peer = ScikitLearn("words")       # "words": \w+, "words2": word 1-2-grams, "ja": character n-grams
    peer.available()                  # None, or the reason why not
    peer.prepare(texts, labels)       # not timed: what a user of that tool has on disk already
    peer.learn(texts, labels)         # timed: list[str] in, a model that can answer out
    peer.predict(texts)               # timed: list[str] in, list[str] of labels out

A new peer is a subclass of `Peer` with `name`, `learn` and `predict`, added to `PEERS`. `takes` says what it is fed:
"list" (list[str]), "arrow" (pyarrow.StringArray for texts and labels) or "parquet" (the path of a Parquet file with the
columns label and text, and None for the labels; zstd, 4,096 rows a group).
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow.parquet as pq

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
        from sklearn.pipeline import make_pipeline

        self.model = make_pipeline(*self._steps()).fit(texts, labels)

    def _steps(self) -> tuple[Any, Any]:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.naive_bayes import MultinomialNB

        if self.features == "ja":
            vectorizer = CountVectorizer(analyzer="char_wb", ngram_range=self.char_ngrams)
        else:
            vectorizer = CountVectorizer(token_pattern=r"\w+", ngram_range=(1, 2 if self.features == "words2" else 1))
        return vectorizer, MultinomialNB(alpha=1.0)

    def predict(self, texts: list[str]) -> list[str]:
        return list(self.model.predict(texts).tolist())


class LinearSvc(ScikitLearn):
    """TfidfVectorizer (sublinear) and LinearSVC, of word 1–2-grams or characters 1–3, which suit it best."""

    name = "scikit-learn, LinearSVC"
    supports = ("words", "ja")
    note = "TF-IDF of word 1–2-grams, or of characters 1–3"

    def prepare(self, texts: Any, labels: Any) -> None:
        """Only the imports."""
        import sklearn.feature_extraction.text
        import sklearn.svm  # noqa: F401

    def _steps(self) -> tuple[Any, Any]:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.svm import LinearSVC

        features: Mapping[str, Any] = {"ngram_range": (1, 2)}
        if self.features == "ja":
            features = {"analyzer": "char", "ngram_range": (1, 3)}
        return TfidfVectorizer(sublinear_tf=True, **features), LinearSVC()


class FilePeer(Peer):
    """Learns from a file of its own, which `prepare` writes, with a line for each text.

    Labels are numbers from 1, because one with a space would be cut; `spaces` replaces what would end a line or mean
    something else.
    """

    note = "words are what white space separates; learns from its own file"
    line: str
    spaces = str.maketrans("\n\r", "  ")

    def prepare(self, texts: list[str], labels: list[str]) -> None:
        """Write the training file."""
        super().prepare(texts, labels)
        self.labels = sorted(set(labels))
        number = {label: i for i, label in enumerate(self.labels, 1)}
        self.folder = tempfile.TemporaryDirectory()
        self.file = str(Path(self.folder.name) / "train.txt")
        with open(self.file, "w", encoding="utf-8") as file:
            for text, label in zip(texts, labels, strict=True):
                file.write(self.line.format(number[label], text.translate(self.spaces)))


class FastText(FilePeer):
    """Supervised training with the defaults (5 epochs, 100 dimensions), wordNgrams=2 for "words2".

    fastText splits at white space only and keeps case. Its training file is written by `prepare`; line breaks become
    spaces. Threads: one a core instead of its default of twelve. Prediction takes the whole list in one call.
    """

    name = "fastText"
    module = "fasttext"
    distribution = "fasttext-numpy2-wheel"
    threads = ("all", "1")
    line = "__label__{} {}\n"
    options: Mapping[str, float] = {}

    def learn(self, texts: list[str], labels: list[str]) -> None:
        import fasttext

        n = 2 if self.features == "words2" else 1
        threads = os.cpu_count() or 1
        self.model = fasttext.train_supervised(self.file, wordNgrams=n, thread=threads, verbose=0, **self.options)

    def predict(self, texts: list[str]) -> list[str]:
        answers, _ = self.model.predict([text.translate(self.spaces) for text in texts])
        return [self.labels[int(answer[0].removeprefix("__label__")) - 1] for answer in answers]


class FastTextLonger(FastText):
    """With the learning rate and the epochs of fastText's own example, `train_supervised.py`."""

    name = "fastText, lr 1, 25 epochs"
    supports = ("words",)
    options: Mapping[str, float] = MappingProxyType({"lr": 1.0, "epoch": 25})


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


class VowpalWabbit(FilePeer):
    """One against all (`--oaa`), logistic loss, one pass; `--ngram 2` for "words2". 2**18 slots, the default, or 2**22.

    It splits at white space only and keeps case; its special characters and line breaks become spaces. It learns from
    its training file, written by `prepare`: a thread parses while another learns, 130-190 MB/s on IMDB where a call a
    line gives 72 and the same model. Prediction is a call a document, clearing its special characters included.
    """

    name = "Vowpal Wabbit"
    module = "vowpalwabbit"
    distribution = "vowpalwabbit"
    threads = ("2", "1")
    line = "{} | {}\n"
    spaces = str.maketrans(":|\n\r", "    ")

    def learn(self, texts: list[str], labels: list[str]) -> None:
        from vowpalwabbit import Workspace

        options = f"--oaa {len(self.labels)} --loss_function logistic --quiet --data".split()
        more = ["-b", "22", "--ngram", "2"] if self.features == "words2" else ["-b", "18"]
        self.model = Workspace(arg_list=[*options, self.file, *more])

    def predict(self, texts: list[str]) -> list[str]:
        return [self.labels[self.model.predict("| " + text.translate(self.spaces)) - 1] for text in texts]


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


class Bunrui(Peer):
    """`TextClassifier` with the model and the features of the others, on all threads."""

    name = "bunrui"
    module = "bunrui"
    distribution = "bunrui"
    threads = ("all", "all")
    supports = FEATURES

    def prepare(self, texts: Any, labels: Any) -> None:
        """Load the kernels, and compile them where that was not done yet."""
        self._new().learn(["some words"] * 10_000, ["a", "b"] * 5_000).predict(["words"] * 10_000)

    def _new(self) -> Any:
        from bunrui import AnalyzerSpec, TextClassifier

        specs = {
            "words": AnalyzerSpec(name="words"),
            "words2": AnalyzerSpec(name="words", words=2),
            "ja": AnalyzerSpec(words=1, across=False, kana_han=(2, 3)),
        }
        return TextClassifier("multinomial", alpha=1.0, analyzer=specs[self.features])

    def learn(self, texts: Any, labels: Any) -> None:
        self.model = self._new().learn(texts, labels)

    def predict(self, texts: Any) -> list[str]:
        return list(self.model.predict(texts))


class BunruiArrow(Bunrui):
    """From an Arrow array in memory."""

    name = "bunrui, Arrow"
    takes = "arrow"


class BunruiParquet(Bunrui):
    """From a Parquet file: one thread decodes the next batch while the others count."""

    name = "bunrui, Parquet"
    takes = "parquet"
    rows = 8192

    def prepare(self, texts: Any, labels: Any) -> None:
        super().prepare(texts, labels)
        batch = next(pq.ParquetFile(texts).iter_batches(100, columns=["label", "text"]))
        self._new().learn(batch["text"], batch["label"])

    def learn(self, texts: Any, labels: Any) -> None:
        from bunrui.engines.stream import ahead

        self.model = self._new()
        for batch in ahead(pq.ParquetFile(texts).iter_batches(self.rows, columns=["label", "text"])):
            self.model.learn(batch["text"], batch["label"])

    def predict(self, texts: Any) -> list[str]:
        from bunrui.engines.stream import ahead

        batches = ahead(pq.ParquetFile(texts).iter_batches(self.rows, columns=["text"]))
        return [label for batch in batches for label in self.model.predict(batch["text"])]


class BunruiDefaults(Bunrui):
    """The default features, and the model from which the automatic choice starts."""

    name = "bunrui, defaults"
    takes = "arrow"
    supports = ("words", "ja")
    note = "its own features and model"
    kind = "binary-complement"

    def _new(self) -> Any:
        from bunrui import TextClassifier

        return TextClassifier(self.kind)


class BunruiAuto(BunruiDefaults):
    """All defaults: the features, and the model that bunrui chooses and calibrates."""

    name = "bunrui, auto"
    kind = "auto"


class BunruiHead(BunruiDefaults):
    """The default features, and the trained model that is the most accurate."""

    name = "bunrui, nbsvm"
    kind = "nbsvm"

    def learn(self, texts: Any, labels: Any) -> None:
        super().learn(texts, labels)
        self.model.predict([""])  # the first question trains it


_PEERS = (
    ScikitLearn,
    LinearSvc,
    FastText,
    FastTextLonger,
    River,
    VowpalWabbit,
    Polars,
    Bunrui,
    BunruiArrow,
    BunruiParquet,
    BunruiDefaults,
    BunruiAuto,
    BunruiHead,
)
PEERS: dict[str, type[Peer]] = {peer.name: peer for peer in _PEERS}
