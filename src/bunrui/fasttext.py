"""fastText's Python module for classifying, in front of bunrui: code written for it runs with one changed import.

    import bunrui.fasttext as fasttext                # was: import fasttext

    model = fasttext.train_supervised("train.txt")    # lines such as `__label__spam cheap pills`
    model.predict("free pills", k=2)                  # (('__label__spam', '__label__ham'), array([0.9, 0.1]))
    model.test("test.txt")                            # (documents, precision, recall)
    model.save_model("mail.bin")                      # a file of bunrui: `bunrui predict mail.bin` reads it

Names, parameters, shapes and `__label__` are fastText's.  The model is bunrui's, chosen by the documents (`auto`).  If
lines have several labels, each label has a probability of its own, as with fastText's `loss="ova"`; else they add up
to 1.  A warning names the parameters that mean nothing here.  There are no vectors of words.
"""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from inspect import Parameter, Signature
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui import documents, store
from bunrui.analysis import AnalyzerSpec
from bunrui.classifier import AnyClassifier, TextClassifier
from bunrui.engines.stream import texts_of
from bunrui.errors import DataError, StoreError
from bunrui.labels import as_list, text_of
from bunrui.store.options import save_counts

__all__ = ["BOW", "EOS", "EOW", "FastText", "load_model", "tokenize", "train_supervised", "train_unsupervised"]

EOS, BOW, EOW = "</s>", "<", ">"

# As fastText's `train_supervised` has them, in its order.
_DEFAULTS: dict[str, Any] = {
    "input": "",
    "lr": 0.1,
    "dim": 100,
    "ws": 5,
    "epoch": 5,
    "minCount": 1,
    "minCountLabel": 0,
    "minn": 0,
    "maxn": 0,
    "neg": 5,
    "wordNgrams": 1,
    "loss": "softmax",
    "bucket": 2_000_000,
    "thread": max((os.cpu_count() or 1) - 1, 1),
    "lrUpdateRate": 100,
    "t": 1e-4,
    "label": "__label__",
    "verbose": 2,
    "pretrainedVectors": "",
    "seed": 0,
    "autotuneValidationFile": "",
    "autotuneMetric": "f1",
    "autotunePredictions": 1,
    "autotuneDuration": 300,
    "autotuneModelSize": "",
}
_OLDER = {
    "min_count": "minCount",
    "word_ngrams": "wordNgrams",
    "lr_update_rate": "lrUpdateRate",
    "label_prefix": "label",
    "pretrained_vectors": "pretrainedVectors",
}
_USED = ("input", "wordNgrams", "label", "verbose", "thread", "seed")  # the last three change no answer there is here
_LOSSES = ("ns", "hs", "softmax", "ova")
_USUAL = _DEFAULTS["label"]
_SPACES = re.compile("[ \n\t\v\f\r\0]+")
_QUANTIZED = 2  # documents that a word must be in


def train_supervised(*values: Any, **named: Any) -> FastText:
    """Learn from a file of lines with labels.

    Parameters
    ----------
    input : str
        The file, in UTF-8.  A line without a label is left out.
    wordNgrams : int
        The longest sequence of words that is a feature; 1 and 2 both stand for bunrui's default, which has 2.
    label : str
        What labels begin with.

    Others that fastText has are taken, and mean nothing here.
    """
    given = _arguments(values, named)
    idle = [name for name, value in given.items() if name not in _USED and value != _DEFAULTS[name]]
    if idle:
        warnings.warn(f"these parameters mean nothing to bunrui: {', '.join(idle)}", stacklevel=2)
    known = _DEFAULTS | given
    classifier = TextClassifier(analyzer=AnalyzerSpec(words=max(2, known["wordNgrams"])))
    try:
        for texts, labels in _read(known["input"], known["label"]):
            classifier.learn(texts, labels)
    except StoreError as error:  # a file that cannot be opened: fastText has a ValueError
        raise ValueError(str(error)) from error
    if not classifier.counts.n_docs:
        raise DataError(f"{known['input']} has no line with a label", hint=f"begin lines with {known['label']}")
    return FastText(classifier, known)


def _arguments(values: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
    """The given parameters; older names of fastText become the present ones."""
    signature = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in _DEFAULTS])
    given = signature.bind_partial(*values, **{_OLDER.get(name, name): named[name] for name in named}).arguments
    if not given.get("input"):
        raise ValueError("give the file with the documents as `input`")
    if given.get("loss", "softmax") not in _LOSSES:
        raise ValueError(f"loss is one of {', '.join(_LOSSES)}, not {given['loss']!r}")
    return given


def _read(path: Any, prefix: str) -> Iterator[tuple[Any, Any]]:
    """Texts and labels of a file, in batches; labels without their prefix."""
    source: Any = os.fspath(path)
    if prefix != _USUAL:
        own, usual = prefix.encode(), _USUAL.encode()
        begins = re.compile(rb"(?<![^ \n\t\v\f\r\0])(?:(" + re.escape(own) + rb")|" + usual + rb")")
        with open(source, "rb") as file:  # what begins like the usual labels is a word now
            source = BytesIO(begins.sub(lambda found: usual if found.lastindex else own, file.read()))
    for batch in documents.read(source, format="fasttext", skip_bad=True):
        yield texts_of(batch), batch["label"]


def train_unsupervised(*values: Any, **named: Any) -> Any:
    """Nothing: vectors of words are another task."""
    raise NotImplementedError("bunrui learns no vectors of words: use fastText for them")


def load_model(path: Any) -> FastText:
    """A model that `save_model` wrote, or any other file of bunrui."""
    try:
        classifier = store.open(os.fspath(path), read_only=True)
    except StoreError as error:
        raise ValueError(f"{error} (a model of fastText itself cannot be read: train it again)") from error
    notes = [entry.note for entry in classifier.history(limit=1)]
    return FastText(classifier, _DEFAULTS | {name: note[name] for note in notes for name in ("label",) if name in note})


def tokenize(text: str) -> list[str]:
    r"""The words of a text, and the end of its lines.

    >>> tokenize("cheap pills\n")
    ['cheap', 'pills', '</s>']
    """
    return [word for word in _SPACES.split(text.replace("\n", f" {EOS} ")) if word]


def label_shares(classifier: AnyClassifier, texts: Any) -> tuple[list[Any], npt.NDArray[np.float64]]:
    """The labels, and the probability of each for every text, (n_docs, n_labels).

    If documents had several labels, each label has a probability of its own; else they add up to 1.
    """
    counts = classifier.counts
    if int(counts.doc_count.sum()) != counts.n_docs:
        return classifier.classes_.tolist(), 0.5 + 0.5 * np.tanh(classifier.label_odds(texts) / 2)
    names, _, shares = classifier.scores_and_probabilities(texts)
    return names, shares


class FastText:
    """A trained model, with fastText's methods."""

    def __init__(self, classifier: AnyClassifier, parameters: dict[str, Any]) -> None:
        self.classifier = classifier
        self._prefix = parameters["label"]
        for name, value in parameters.items():
            if name != "input":
                setattr(self, name, value)

    def __repr__(self) -> str:
        return f"<bunrui.fasttext.FastText of {len(self.labels)} labels>"

    # Predicting

    def predict(
        self, text: str | list[str], k: int = 1, threshold: float = 0.0, on_unicode_error: str = "strict"
    ) -> tuple[Any, Any]:
        """The k most likely labels whose probability is at least the threshold; -1 is for all labels.

        Of a string: a tuple of labels, and an array of probabilities; of a list: a list of each.
        """
        texts = [text] if isinstance(text, str) else text
        for each in texts:
            if "\n" in each:
                raise ValueError("predict processes one line at a time (remove '\\n')")
        # `get_line` gives the mark for the end of a line, too.
        found = self._ranked([each.removesuffix(EOS) for each in texts], k, threshold)
        if isinstance(text, str):
            return tuple(found[0][0]), found[0][1]
        return [labels for labels, _ in found], [shares for _, shares in found]

    def _ranked(self, texts: Any, k: int, threshold: float) -> list[tuple[list[str], npt.NDArray[np.float64]]]:
        """The best labels of each text, and their probabilities."""
        if not len(texts):
            return []
        names, shares = label_shares(self.classifier, texts)
        most = len(names) if k < 0 else min(k, len(names))
        places = np.argsort(-shares, axis=1, kind="stable")[:, :most]
        found = []
        for row, place in zip(shares, places, strict=True):
            place = place[row[place] >= threshold]
            found.append(([self._prefix + text_of(names[column]) for column in place.tolist()], row[place]))
        return found

    # Testing

    def test(self, path: Any, k: int = 1, threshold: float = 0.0) -> tuple[int, float, float]:
        """The number of documents of a file, the precision and the recall of the k best labels."""
        found, gold, right, n_docs = self._compare(path, k, threshold)
        return n_docs, _share(right.total(), found.total()), _share(right.total(), gold.total())

    def test_label(self, path: Any, k: int = 1, threshold: float = 0.0) -> dict[str, dict[str, float]]:
        """Precision, recall and F1 of every label."""
        found, gold, right, _ = self._compare(path, k, threshold)
        return {
            label: {
                "precision": _share(right[label], found[label]),
                "recall": _share(right[label], gold[label]),
                "f1score": _share(2 * right[label], found[label] + gold[label]),
            }
            for label in sorted({*found, *gold})
        }

    def _compare(self, path: Any, k: int, threshold: float) -> tuple[Counter[str], Counter[str], Counter[str], int]:
        """How often each label was predicted, was there, and was both; and how many documents have a known label."""
        known = set(self.labels)
        found, gold, right, n_docs = Counter[str](), Counter[str](), Counter[str](), 0
        for texts, labels in _read(path, self._prefix):
            for given, (predicted, _) in zip(labels.to_pylist(), self._ranked(texts, k, threshold), strict=True):
                true = {self._prefix + label for label in as_list(given)} & known
                if not true:
                    continue
                n_docs += 1
                found.update(predicted)
                gold.update(true)
                right.update(true.intersection(predicted))
        return found, gold, right, n_docs

    # Labels and words

    @cached_property
    def labels(self) -> list[str]:
        """All labels, those with most documents first."""
        return list(self.get_labels())

    @cached_property
    def words(self) -> list[str]:
        """All words, the frequent ones first."""
        return list(self.get_words())

    def __contains__(self, word: str) -> bool:
        return word in self.words

    def get_labels(self, include_freq: bool = False, on_unicode_error: str = "strict") -> Any:
        """All labels; with the number of their documents, if asked for."""
        totals = self.classifier.counts.class_totals()
        counted = {self._prefix + text_of(label): n for label, (n, _, _) in totals.items()}
        return _by_frequency(counted, include_freq)

    def get_words(self, include_freq: bool = False, on_unicode_error: str = "strict") -> Any:
        """All words; with the number of their occurrences, if asked for."""
        counted = {word: n for word, (n, _) in self.classifier.counts.totals().items() if " " not in word}
        return _by_frequency(counted, include_freq)

    def get_label_id(self, label: str) -> int:
        """The place of a label in `labels`, or -1."""
        return self.labels.index(label) if label in self.labels else -1

    def get_word_id(self, word: str) -> int:
        """The place of a word in `words`, or -1."""
        return self.words.index(word) if word in self.words else -1

    def get_line(self, text: str | list[str], on_unicode_error: str = "strict") -> tuple[Any, Any]:
        """The words of a line, and those of its labels that are known; of a list, lists of both."""
        if not isinstance(text, str):
            lines = [self.get_line(line) for line in text]
            return [words for words, _ in lines], [labels for _, labels in lines]
        if "\n" in text:
            raise ValueError("get_line processes one line at a time (remove '\\n')")
        tokens, known = tokenize(text + "\n"), set(self.labels)
        words = [token for token in tokens if not token.startswith(self._prefix)]
        return words, [token for token in tokens if token in known]

    # Files

    def save_model(self, path: Any) -> None:
        """Write a file of bunrui with the counts of words, without texts; it replaces an old one."""
        save_counts(os.fspath(path), self.classifier, label=self._prefix)

    def quantize(self, *values: Any, **named: Any) -> None:
        """Leave out the words of a single document: a smaller file, as fastText's quantized models are."""
        self.classifier = self.classifier.with_model(min_df=_QUANTIZED)

    def is_quantized(self) -> bool:
        """Whether `quantize` was called."""
        return bool(self.classifier.min_df >= _QUANTIZED)

    def __getattr__(self, name: str) -> Any:
        if "vector" in name or "matri" in name or "subword" in name or name in _VECTORS:
            raise AttributeError(f"{name}: bunrui has no vectors of words; use fastText for them")
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")


_VECTORS = ("get_dimension", "get_nearest_neighbors", "get_analogies")


def _share(part: int, whole: int) -> float:
    """As fastText has it: not a number where there is nothing."""
    return part / whole if whole else float("nan")


def _by_frequency(counted: dict[str, int], include_freq: bool) -> Any:
    names = sorted(counted, key=lambda name: (-counted[name], name))
    return (names, np.array([counted[name] for name in names], np.int64)) if include_freq else names
