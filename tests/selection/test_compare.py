from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bunrui import AnalyzerSpec, TextClassifier, data
from bunrui.calibration import lengths_of
from bunrui.errors import DataError, OptionError
from bunrui.estimators.pipelines import fit_baseline
from bunrui.evaluation import folds, leave_one_out, mcnemar, measure
from bunrui.models import AUTO, MODELS
from bunrui.report import comparison_page
from bunrui.selection import Comparison, calibrate, compare
from bunrui.selection.compare import Progress, Row, _rank
from bunrui.selection.settings import analyzers_for, scripts_of
from bunrui.views.comparison import ComparisonTable
from tests.support.small import SMALL

ROWS = [row for row in data.read("demo") if row["lang"] == "en"]
TEXTS, LABELS = [row["text"] for row in ROWS], [row["label"] for row in ROWS]
FEW = {"models": ["binary"], "analyzers": ["words"]}


def in_language(lang: str) -> tuple[list[str], list[str]]:
    rows = [row for row in data.read("demo") if row["lang"] == lang]
    return [row["text"] for row in rows], [row["label"] for row in rows]


def row_of(found: Comparison, model: str, features: str = "universal") -> Row:
    (row,) = [row for row in found.rows if (row.model, row.features) == (model, features)]
    return row


def refitted(model: str, spec: AnalyzerSpec, texts: list[str], labels: list[str], parts: Any) -> list[bool]:
    """Which documents are right, part after part, by classifiers that are made from scratch."""
    right = []
    for train, test in parts:
        clf = TextClassifier(model, analyzer=spec).learn([texts[i] for i in train], [labels[i] for i in train])
        answers = clf.predict([texts[i] for i in test]).tolist()
        right += [answer == labels[i] for answer, i in zip(answers, test.tolist(), strict=True)]
    return right


# --- the figures


def test_the_log_loss_of_calibrated_probabilities() -> None:
    plain = compare(TEXTS, LABELS, models=["binary", "nbsvm"], analyzers=["words"], loo=False)
    found = compare(TEXTS, LABELS, models=["binary", "nbsvm"], analyzers=["words"], loo=False, calibrated=True)
    assert (plain.calibrated, found.calibrated, found.to_dict()["calibrated"]) == (False, True, True)
    for one, other in zip(plain.rows, found.rows, strict=True):
        assert (one.model, one.right.tolist(), one.interval) == (other.model, other.right.tolist(), other.interval)
        assert other.log_loss < 0.9 * one.log_loss
    # Left out, documents are calibrated as `calibrate` does it.
    (row,) = compare(TEXTS, LABELS, loo=True, calibrated=True, **FEW).rows
    clf = TextClassifier("binary", analyzer="words").learn(TEXTS, LABELS)
    alone = leave_one_out(clf, TEXTS, LABELS)
    shares = calibrate(clf, TEXTS, LABELS).apply(alone.scores, lengths_of(TEXTS))
    assert row.log_loss == pytest.approx(replace(alone, probabilities=shares).log_loss, rel=1e-9)


@pytest.mark.parametrize("model", ["multinomial", "bernoulli", "wcnb", "binary-complement", "nbsvm", "twcnb"])
def test_folds_are_those_of_classifiers_from_scratch(model: str) -> None:
    parts = folds(len(TEXTS), LABELS, 5)
    found = compare(TEXTS, LABELS, models=[model], analyzers=["universal", "words:2"])
    for spec, name in ((AnalyzerSpec(), "universal"), (AnalyzerSpec(name="words", words=2), "words 1–2")):
        expected = refitted(model, spec, TEXTS, LABELS, parts)
        row = row_of(found, model, name)
        assert row.right.tolist() == expected and row.metrics.accuracy == np.mean(expected)
    assert (found.n_docs, found.how) == (100, "each of 5 parts by the others")


def test_given_folds_test_what_they_name() -> None:
    parts = folds(len(TEXTS), k=3, kind="time")
    found = compare(TEXTS, LABELS, folds=parts, **FEW)
    assert found.n_docs == sum(len(test) for _, test in parts) < len(TEXTS)
    assert found.rows[0].right.tolist() == refitted("binary", AnalyzerSpec(name="words"), TEXTS, LABELS, parts)


def test_leave_one_out() -> None:
    found = compare(TEXTS, LABELS, loo=True)
    assert {row.model for row in found.rows} == {AUTO, *MODELS}
    for model in MODELS:
        alone = leave_one_out(TextClassifier(model), TEXTS, LABELS)
        row = row_of(found, model)
        assert row.right.tolist() == alone.right.tolist()
        assert row.log_loss == pytest.approx(alone.log_loss, rel=1e-12)


def test_test_documents_are_predicted_by_the_others_alone() -> None:
    test = ["senate vote", "goal in the last minute", "something else entirely"]
    found = compare(TEXTS[:80], LABELS[:80], test=(test, ["politics", "sports", "never learned"]))
    for model in ("multinomial", "binary-complement", "arow"):
        clf = TextClassifier(model).learn(TEXTS[:80], LABELS[:80])
        expected = (clf.predict(test) == np.array(["politics", "sports", "never learned"])).tolist()
        row = row_of(found, model)
        assert row.right.tolist() == expected
        assert row.cost.size.features == clf.counts.n_features  # of what was learned, not of what was tested
    assert (found.n_docs, found.how) == (3, "by 80 others")


def test_rows_are_rank_and_held_against_the_first() -> None:
    found = compare(TEXTS, LABELS, folds=2)
    accuracies = [row.metrics.accuracy for row in found.rows]
    assert accuracies == sorted(accuracies, reverse=True) and len(found.rows) == 3 * (len(MODELS) + 4) + 1
    assert (found.rows[0].against_first, found.rows[0].verdict) == (None, "first")
    for row in found.rows[1:]:
        expected = mcnemar(found.rows[0].right, row.right)
        assert row.against_first == expected
        assert row.verdict == ("lost" if expected.p < 0.05 / (33 * 32 / 2) else "tied")
        assert row.interval.low <= row.metrics.accuracy <= row.interval.high


def test_models_that_are_equally_good_are_tied() -> None:
    rng = np.random.default_rng(0)
    usual = compare(TEXTS, LABELS, **FEW).rows[0]

    def is_any_lost(rights: np.ndarray) -> bool:
        answers = (np.where(right, "a", "b") for right in rights)
        rows = [replace(usual, right=r, metrics=measure(["a"] * 150, a)) for r, a in zip(rights, answers, strict=True)]
        return any(row.verdict == "lost" for row in _rank(rows))

    # 5 of 100 are allowed; if the 5 % were not shared, it would be 87.
    assert sum(is_any_lost(rng.random((20, 150)) < 0.8) for _ in range(100)) <= 10
    assert is_any_lost(rng.random((20, 150)) < np.linspace(0.4, 0.9, 20)[:, None])


def test_sizes_are_those_of_the_parts_that_were_learned() -> None:
    found = compare(TEXTS, LABELS, test=(TEXTS[:1], LABELS[:1]), models=["binary", "nbsvm"], analyzers=["words"])
    clf = TextClassifier(analyzer="words").learn(TEXTS, LABELS)
    size = row_of(found, "binary", "words 1").cost.size
    assert size == (clf.counts.n_features, clf.counts.n_cells)
    assert row_of(found, "nbsvm", "words 1").cost.size == (clf.counts.n_features, 5 * clf.counts.n_features)


def test_documents_with_several_labels() -> None:
    labels: list[Any] = [[label, "all"] if k % 2 else label for k, label in enumerate(LABELS)]
    parts = folds(len(TEXTS), labels, 5)
    found = compare(TEXTS, labels, models=["binary", "nbsvm"], analyzers=["words"])
    for row in found.rows:
        right = []
        for train, test in parts:
            clf = TextClassifier(row.model, analyzer="words")
            clf.learn([TEXTS[i] for i in train], [labels[i] for i in train])
            right += [a in labels[i] for a, i in zip(clf.predict([TEXTS[i] for i in test]), test, strict=True)]
        assert row.right.tolist() == right


# --- analyzers


def test_analyzers_suit_the_script() -> None:
    spaced = [AnalyzerSpec(), AnalyzerSpec(name="words"), AnalyzerSpec(name="words", words=2)]
    assert analyzers_for(TEXTS) == spaced
    assert analyzers_for([["some", "tokens"]]) == [AnalyzerSpec()]
    assert analyzers_for(["", "!?", "42"]) == spaced  # digits are words
    assert analyzers_for(["", "!?"]) == [AnalyzerSpec()]
    assert analyzers_for(["สวัสดีครับ"]) == [AnalyzerSpec()]


@pytest.mark.parametrize(
    ("lang", "package", "words"),
    [
        ("ja", "fugashi", 0),
        ("zh", "rjieba", 0),
        pytest.param("ko", "kiwipiepy", 2, marks=pytest.mark.slow),  # its dictionary takes seconds to load
    ],
)
def test_a_dictionary_for_its_language(lang: str, package: str, words: int) -> None:
    pytest.importorskip(package)
    texts, labels = in_language(lang)
    specs = analyzers_for(texts)
    assert [spec.name for spec in specs] == ["universal", *["words"] * words, lang]
    found = compare(texts, labels, models=["binary", "mixed", "twcnb"], analyzers=[lang], folds=2)
    parts = folds(len(texts), labels, 2)
    for row in found.rows:
        assert row.right.tolist() == refitted(row.model, AnalyzerSpec(name=lang), texts, labels, parts)


def test_scripts_of_mixed_text() -> None:
    scripts = scripts_of([row["text"] for row in data.read("demo")])
    assert scripts.has_spaces and scripts.dictionary is None and "kana_han" in scripts.ordered
    assert sum(scripts[:4]) == pytest.approx(1)


# --- baselines


def test_baselines_are_scikit_learns() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    found = compare(TEXTS, LABELS, baselines=True, **FEW)
    parts = folds(len(TEXTS), LABELS, 5)
    for name, model in (("LinearSVC", LinearSVC()), ("LogisticRegression", LogisticRegression(max_iter=1000))):
        right = []
        for train, test in parts:
            pipe = make_pipeline(TfidfVectorizer(), model).fit([TEXTS[i] for i in train], [LABELS[i] for i in train])
            right += (pipe.predict([TEXTS[i] for i in test]) == np.array(LABELS)[test]).tolist()
        row = row_of(found, name, "TF-IDF")
        assert row.right.tolist() == right and row.cost.size.features == len(pipe[0].vocabulary_)


def test_a_baseline_of_two_labels_and_of_several() -> None:
    two = fit_baseline("LinearSVC", ["red green", "green blue"], ["a", "b"])
    assert two.scores(["red", "blue"]).argmax(axis=1).tolist() == [0, 1]
    both = fit_baseline("LogisticRegression", ["red", "red", "blue"], [["a", "c"], "a", {"b"}])
    assert both.classes_.tolist() == ["a", "b", "c"] and both.scores(["red"])[0].argmax() == 0


def test_what_a_baseline_cannot_learn_is_left_out_and_told() -> None:
    found = compare(["", "a", "b", ""], ["x", "y", "x", "y"], baselines=True, **FEW)
    assert [row.model for row in found.rows] == ["binary"]
    assert [reason.partition(" cannot")[0] for reason in found.skipped] == ["LinearSVC", "LogisticRegression"]


# --- hostile input


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a", "b", "c"], ["x", "x", "x"], "all documents have the label 'x', so that there is nothing to tell apart"),
        ([], [], "there are no documents, so that there is nothing to tell apart"),
        (["a", "b"], ["x"], "there are 2 texts and 1 label"),
    ],
)
def test_nothing_to_compare(texts: list[str], labels: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        compare(texts, labels)


@pytest.mark.parametrize(("texts", "labels"), SMALL.values(), ids=SMALL)
def test_small_and_odd_input(texts: list[Any], labels: list[str]) -> None:
    for loo in (False, True):
        found = compare(texts, labels, loo=loo)
        assert found.n_docs == len(texts) and all(len(row.right) == len(texts) for row in found.rows)
        assert np.isfinite([row.log_loss for row in found.rows]).all()


def test_a_label_alone_is_never_predicted() -> None:
    found = compare(["a b"] * 4 + ["c d"] * 4 + ["e"], ["x"] * 4 + ["y"] * 4 + ["alone"], **FEW)
    assert found.rows[0].metrics.accuracy == pytest.approx(8 / 9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": ["svm"]}, "there is no model 'svm' to compare: choose one of multinomial, binary"),
        ({"models": ["columns"]}, "there is no model 'columns' to compare"),
        ({"models": []}, "there are no models to compare"),
        ({"models": ["nbsvm"], "loo": True}, "nbsvm would be trained once for each document"),
        ({"baselines": True, "loo": True}, "baselines would be trained once for each document"),
        ({"analyzers": ["sentences"]}, "there is no analyzer 'sentences'"),
        (
            {"analyzers": ["words:two"]},
            "analyzers should be names, perhaps with a number as in words:2, not 'words:two'",
        ),
        ({"analyzers": ["columns"]}, "the analyzer 'columns' reads tables"),
        ({"loo": True, "folds": 3}, "give one of folds, loo, test, not several"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        compare(TEXTS, LABELS, **options)


def test_tokens_have_no_analyzer() -> None:
    for options in ({"analyzers": ["words"]}, {"baselines": True}):
        with pytest.raises(OptionError, match="are for text, and these documents are tokens or counts"):
            compare([["a"], ["b"], ["a"]], ["x", "y", "x"], **options)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "there are no folds"),
        ([([0, 1], [1, 2])], "a fold learns row 1 and tests it"),
        ([([0, 1], [])], "a fold has no rows to test"),
        ([([0], [100])], "a fold has row 100, but there are 100 documents"),
    ],
)
def test_folds_that_make_no_sense(parts: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        compare(TEXTS, LABELS, folds=parts, **FEW)


def test_no_documents_to_test() -> None:
    with pytest.raises(DataError, match="there are no documents to test"):
        compare(TEXTS, LABELS, test=([], []))


# --- what it looks like


def test_progress_is_told_before_each_measurement() -> None:
    told: list[Progress] = []
    found = compare(TEXTS, LABELS, models=["binary", "nbsvm"], analyzers=["universal", "words"], watch=told.append)
    assert [len(progress.done.rows) for progress in told] == [0, 1, 2, 3] and {p.n_all for p in told} == {4}
    assert [p.now.split(",")[0] for p in told] == ["binary", "binary", "nbsvm", "nbsvm"]  # what is trained comes last
    assert found.rows[0].verdict == "first"


def test_json_and_html() -> None:
    found = compare(TEXTS, LABELS, models=["binary", "mixed"], analyzers=["words:2"], baselines=True)
    stored = json.loads(json.dumps(found.to_dict()))
    assert [row["model"] for row in stored["rows"]] == [row.model for row in found.rows]
    by_model = {row["model"]: row for row in stored["rows"]}
    assert by_model["binary"]["analyzer"] == {"name": "words", "words": 2}
    assert by_model["LinearSVC"]["analyzer"] is None
    html = found._repr_html_()
    assert html.count("<tr") == 1 + len(found.rows) and "words 1–2" in html and "TF-IDF" in html


def test_the_model_behind_auto_is_named() -> None:
    line = "auto: binary-complement, λ 0.3: 10 documents are too few to tell"
    found = compare(TEXTS[:10], LABELS[:10], models=["auto", "binary"], analyzers=["words"], loo=True)
    assert line in found._repr_html_() and line in comparison_page(found)
    several = [[label] if k else ["a", "b"] for k, label in enumerate(LABELS[:60])]
    found = compare(TEXTS[:60], several, models=["auto"], analyzers=["words"])
    assert found.automatic == "binary-complement, λ 0.3: some documents have several labels"


@pytest.mark.parametrize(("width", "n_tables"), [(140, 1), (80, 2)])
def test_tables_fit(width: int, n_tables: int) -> None:
    from rich.console import Console

    found = compare(TEXTS, LABELS, models=["binary", "binary-complement"])
    out = io.StringIO()
    Console(width=width, file=out).print(ComparisonTable(found))
    lines = out.getvalue().splitlines()
    assert sum(line.startswith("model") for line in lines) == n_tables
    assert max(map(len, lines)) <= width and not any("…" in line for line in lines)
    assert any("features" in line for line in lines)
