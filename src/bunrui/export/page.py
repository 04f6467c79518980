"""`make_page`: a classifier as one HTML page, which classifies and explains in a browser, offline.

The page has the analyzer and the formulas in JavaScript (`web/`), the Unicode tables of the analyzer, and the weights.
It gives the same features and, to 1e-9, the same scores and probabilities as the classifier, or as its remaining
features where some are left out.  Its look and its phrases are those of the page of the service.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

import bunrui
from bunrui.analysis import AnalyzerSpec
from bunrui.classifier import AnyClassifier, TextClassifier
from bunrui.errors import DataError, Option, OptionError
from bunrui.evaluation.loo import Labelled, own_documents
from bunrui.export.packing import list_values, list_words, pack
from bunrui.export.weights import Source, rank, with_weights
from bunrui.kernel import unicode
from bunrui.kernel.reference import EMOTICONS
from bunrui.labels import as_list, text_of
from bunrui.sparse import Integers
from bunrui.views.markup import Markup, asset, document, element, isolated

MOST_BYTES = 20_000_000
_SPARE = 2000  # bytes for numbers that are known later
_MARGIN = 0.99  # of the room that is aimed at
_FEW = 30_000  # features that are packed to see how much room they take
_GUESS = 1.5  # many features take less room than few: more of them begin alike
_HELD_OUT = 5  # every so many documents are measured
_MOST_MEASURED = 20_000
_LANGUAGES = ("en", "ja", "zh", "ko")
_SHARED = ("show.js", "i18n.js", "dom.js", "bars.js")  # of the service
_OWN = ("fold.js", "analyze.js", "classify.js", "explanation.js", "page.js")
_REWRITES = ("html", "urls", "mentions", "numbers")
_TABLES = {  # of kernel/unicode.npz
    "universal": "nfkc_index nfkc_blocks class_index class_blocks assigned_index assigned_blocks expansions mark_codes",
    "words": "lower_index lower_blocks word_index word_blocks sigma_index sigma_blocks expansions",
}


class Pruning(NamedTuple):
    """What a page lacks, and what that costs.

    Attributes
    ----------
    kept, all : int
        Features.
    before, after : float, optional
        The accuracy with all features, and with those that were kept; None where nothing could be measured.
    documents : int
        How many it was measured on.
    """

    kept: int
    all: int
    before: float | None = None
    after: float | None = None
    documents: int = 0


class Page(NamedTuple):
    """A page, the number of its features, and what it lacks, if it lacks anything."""

    html: str
    n_features: int
    pruning: Pruning | None


def make_page(
    classifier: AnyClassifier, name: str, *, test: tuple[Any, Any] | None = None, most_bytes: int | None = None
) -> Page:
    """A page that answers as a classifier does, of at most 20 MB by default.

    Where all features would be too many, the page has those that tell labels apart best, and says what accuracy that
    costs: on the texts and labels of `test`; else on every fifth document that the classifier keeps, as a classifier of
    the others predicts it, with the same share of its features.

    Raises
    ------
    OptionError
        For an analyzer or a model that a page cannot have.
    DataError
        For a test without documents.

    Examples
    --------
    >>> clf = TextClassifier().learn(["cheap pills", "lunch at noon"], ["spam", "ham"])
    >>> page = make_page(clf, "mail")
    >>> page.html[:15], page.n_features, page.pruning
    ('<!doctype html>', 8, None)
    """
    spec = check_analyzer(classifier.analyzer)
    given = None if test is None else Labelled(*test)
    if given is not None and not len(given):
        raise DataError("there are no documents to measure", hint=("give at least one with ", Option("test")))
    about = {
        "documents": classifier.counts.n_docs,
        "model": classifier.effective_options["model"],
        "version": bunrui.__version__,
    }
    most_bytes = MOST_BYTES if most_bytes is None else most_bytes
    room = most_bytes - len(_document(name, about, "").encode()) - _SPARE

    def fill(source: Source) -> tuple[str, int]:
        """Pack the best features, until the page is full; also give their number."""
        words, order = classifier.counts.texts_of(source.ids), rank(source, classifier.counts)
        encoded = [word.encode() for word in words]
        in_order = np.array(sorted(range(len(words)), key=encoded.__getitem__), np.int64)

        def pack_some(places: Integers) -> str:
            chosen = np.zeros(len(words), bool)
            chosen[places] = True
            sorted_places = in_order[chosen[in_order]]
            return _pack(classifier, spec, source, [encoded[place] for place in sorted_places.tolist()], sorted_places)

        n = len(order)
        if n > _FEW:
            # Not all at once: the weights of nbsvm on 20 Newsgroups are 180 MB.
            some = order[:: n // _FEW]
            n = min(n, max(int(_GUESS * room * len(some) / len(pack_some(some))), 1))
        last_n = last_size = 0
        size = len(packed := pack_some(order[:n]))
        while size <= room and n < len(order):  # few features share less than many do: the guess may be too small
            last_n, last_size = n, size
            n = min(n + n // 2 + 1, len(order))
            size = len(packed := pack_some(order[:n]))
        while size > room:
            each = (size - last_size) / (n - last_n)
            last_n, last_size = n, size
            n = min(n - 1, max(int(n - (size - _MARGIN * room) / each), n // 4))
            if n < 1:
                raise OptionError(f"a page of {most_bytes:,} bytes has no room for this classifier")
            size = len(packed := pack_some(order[:n]))
        return packed, n

    def make(source: Source) -> tuple[str, int, Pruning | None]:
        packed, n = fill(source)
        if n == len(source.ids):
            return packed, n, None
        coarse = source.coarse()
        packed, n = (packed, n) if coarse is source else fill(coarse)
        pruning = Pruning(n, len(source.ids))
        texts, labels, model = _measurable(classifier, given)
        if texts is not None:
            share = n / len(source.ids)
            accuracies = with_weights(model, lambda whole: _accuracies(model, whole, share, texts, labels))
            pruning = Pruning(n, len(source.ids), *accuracies, len(texts))
        return packed, n, pruning

    packed, n, pruning = with_weights(classifier, make)
    html = _document(name, about | {"pruning": pruning and pruning._asdict()}, packed)
    return Page(html, n, pruning)


def check_analyzer(analyzer: Any) -> AnalyzerSpec:
    """The options of an analyzer that a page can have.

    >>> check_analyzer("ja")
    Traceback (most recent call last):
    bunrui.errors.OptionError: a page has no dictionary for the analyzer 'ja': learn with analyzer='universal'
    """
    spec = AnalyzerSpec(name=analyzer) if isinstance(analyzer, str) else analyzer
    hint = "learn with ", Option("analyzer", "universal")
    if not isinstance(spec, AnalyzerSpec):
        raise OptionError("a page cannot run an analyzer that is a function of Python", hint=hint)
    if spec.name == "columns":
        raise OptionError("a page reads texts, and this classifier reads the rows of tables")
    if spec.name not in _TABLES:
        raise OptionError(f"a page has no dictionary for the analyzer {spec.name!r}", hint=hint)
    for name in _REWRITES:
        if getattr(spec, name):
            raise OptionError(("a page cannot rewrite texts: learn without ", Option(name)))
    return spec


# --- what pruning costs


def _measurable(classifier: AnyClassifier, test: Labelled | None) -> tuple[Any, Any, AnyClassifier]:
    """Texts with their labels, and a classifier that has not learned them; no texts where there are none."""
    if test is not None:
        return test.texts, test.true, classifier
    if getattr(classifier, "keep", "") != "text":
        return None, None, classifier
    documents = Labelled(*own_documents(classifier))
    places = np.arange(len(documents))
    held_out = places[places % _HELD_OUT == _HELD_OUT - 1]
    if not len(held_out):
        return None, None, classifier
    others = TextClassifier(**classifier.effective_options).learn(*documents.pick(np.setdiff1d(places, held_out)))
    step = -(-len(held_out) // _MOST_MEASURED)
    return *documents.pick(held_out[::step]), others


def _accuracies(
    classifier: AnyClassifier, source: Source, share: float, texts: Any, labels: Any
) -> tuple[float, float]:
    """The accuracy with all features, and with a share of them, as a page has them."""
    names = np.array([text_of(label) for label in source.classes])
    right = [set(map(text_of, as_list(label))) for label in labels]

    def accuracy(source: Source, n: int) -> float:
        scores = source.scores(texts, rank(source, classifier.counts)[:n])
        found = names[scores.argmax(axis=1)].tolist()
        return float(np.mean([name in those for name, those in zip(found, right, strict=True)]))

    n = len(source.ids)
    return accuracy(source, n), accuracy(source.coarse(), max(round(share * n), 1))


# --- its parts


def _pack(classifier: AnyClassifier, spec: AnalyzerSpec, source: Source, words: list[bytes], places: Integers) -> str:
    """The analyzer and the weights of some features, whose words are sorted."""
    weights = source.weigh(places)
    arrays = list_words(words) | list_values("weights", weights.values)
    if weights.lengths is not None and weights.classes is not None:
        arrays |= {"lengths": weights.lengths, "classes": weights.classes}
    for name, values in (("shared", weights.shared), ("factors", weights.factors)):
        arrays |= {} if values is None else list_values(name, values)
    model = source.facts | {"labels": [text_of(label) for label in source.classes]}
    if classifier.is_calibrated and classifier.calibration is not None:
        known = classifier.calibration.to_dict()
        model["calibration"] = {name: known[name] for name in ("level", "slope", "confidences", "accuracies")}
    fields = ("name", "words", "punctuation", "across", "kana_han", "hangul", "unspaced", "stop_words", "hash_bits")
    analyzer = {name: getattr(spec, name) for name in fields} | {"emoticons": EMOTICONS}
    return pack({"model": model, "analyzer": analyzer}, arrays | _tables(spec.name))


@cache
def _tables(analyzer: str) -> dict[str, Any]:
    with np.load(unicode.PATH, allow_pickle=False) as stored:
        return {name: stored[name] for name in _TABLES[analyzer].split()}


def _document(name: str, about: dict[str, Any], weights: str) -> str:
    told = json.dumps({"about": about, "phrases": _phrases()}, ensure_ascii=False, allow_nan=False).replace(
        "<", "\\u003c"
    )
    brand = element("p", "bunrui ", element("span", "分類", lang="ja"), class_="brand")
    body = (
        element("header", brand, element("h1", isolated(name))),
        element("main", element("p", "…"), id="main"),
        element("noscript", element("p", "This page needs JavaScript.", class_="notice")),
        element("script", Markup(told), type="application/json", id="told"),
        element("script", Markup(weights), type="text/plain", id="weights"),
    )
    style = "\n".join((asset("views.css"), _file("service", "style.css"), _file("export", "page.css")))
    return document(f"{name} – bunrui", body, style, _script(), kind="module")


@cache
def _script() -> str:
    """All modules as one: what one exports, the others find by its name."""
    sources = [*(_file("service", f"js/{name}") for name in _SHARED), *(_file("export", name) for name in _OWN)]
    joined = re.sub(r"^import\b[^;]*;\n", "", "\n".join(sources), flags=re.MULTILINE)
    return asset("views.js") + re.sub(r"^export (?=async |function|class|const)", "", joined, flags=re.MULTILINE)


@cache
def _phrases() -> dict[str, dict[str, str]]:
    """The phrases that the scripts name, in each language."""
    names = set(re.findall(r"\"([a-z]+\.[a-z.]+)\"", _script()))
    said = {language: json.loads(_file("service", f"lang/{language}.json")) for language in _LANGUAGES}
    return {
        language: {key: text for key, text in phrases.items() if re.sub(r"\.(one|other)$", "", key) in names}
        for language, phrases in said.items()
    }


def _file(package: str, name: str) -> str:
    return (files("bunrui") / package / "web" / name).read_text(encoding="utf-8").replace("\r\n", "\n")
