"""Labels that are integers or booleans: what a classifier with strings says, in the type that it was given."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.errors import LabelError
from bunrui.evaluation import cross_validate, learning_curve, leave_one_out, loo_scores, measure
from bunrui.report import audit_page, evaluation_page
from bunrui.selection import audit, calibrate, compare

TEXTS = [f"word{k % 3} common{k % 11} w{k % 7} v{k % 5}" for k in range(60)]
PLACES = [k % 3 for k in range(60)]
STRINGS = ["a", "b", "c"]
TYPES: dict[str, list[Any]] = {"int": [-7, 9, 10], "bool": [False, True]}  # in the order of their names above

each_type = pytest.mark.parametrize("names", TYPES.values(), ids=TYPES)


def labels_of(names: list[Any]) -> list[Any]:
    return [names[place % len(names)] for place in PLACES]


def pair(names: list[Any], model: str = "multinomial", **options: Any) -> tuple[TextClassifier, TextClassifier]:
    """A classifier of typed labels, and the same with strings."""
    one, other = (TextClassifier(model, analyzer="words", **options) for _ in range(2))
    return one.learn(TEXTS, labels_of(names)), other.learn(TEXTS, labels_of(STRINGS[: len(names)]))


def typed(value: Any, names: list[Any]) -> Any:
    """What was said of strings, said of typed labels."""
    if isinstance(value, (list, tuple, set)):
        return type(value)(typed(one, names) for one in value)
    if isinstance(value, dict):
        return {typed(key, names): one for key, one in value.items()}
    return names[STRINGS.index(value)] if value in STRINGS else value


def same(value: Any, expected: Any) -> bool:
    """Equal, and of one type: True == 1."""
    return repr(value) == repr(expected)


@each_type
@pytest.mark.parametrize("model", ["multinomial", "binary-complement", "nbsvm", "arow"])
def test_answers(names: list[Any], model: str) -> None:
    clf, twin = pair(names, model)
    assert same(clf.classes_.tolist(), names) and clf.classes_.dtype == np.array(names).dtype
    for found, expected in ((clf.predict(TEXTS), twin.predict(TEXTS)), (clf.predict_top(TEXTS, 2)[0], None)):
        expected = twin.predict_top(TEXTS, 2)[0] if expected is None else expected
        assert same(found.tolist(), typed(expected.tolist(), names)) and found.dtype == clf.classes_.dtype
    assert clf.scores(TEXTS).tobytes() == twin.scores(TEXTS).tobytes()
    assert clf.score(TEXTS, labels_of(names)) == twin.score(TEXTS, labels_of(STRINGS[: len(names)]))
    first, second = (np.array([name])[0] for name in names[:2])  # as NumPy has them
    assert (
        clf.log_odds(TEXTS, positive=first, negative=second).tobytes()
        == twin.log_odds(TEXTS, positive="a", negative="b").tobytes()
    )
    pipeline = clf.to_sklearn()
    assert pipeline.classes_.dtype == clf.classes_.dtype
    assert pipeline.predict(TEXTS).tolist() == clf.predict(TEXTS).tolist()


@each_type
@pytest.mark.parametrize("model", ["multinomial", "nbsvm"])
def test_explanations_and_words(names: list[Any], model: str) -> None:
    clf, twin = pair(names, model)
    first, second = (np.array([name])[0] for name in names[:2])
    for found, expected in (
        (clf.explain(TEXTS[0]), twin.explain(TEXTS[0])),
        (clf.explain(TEXTS[0], label=first, against=second), twin.explain(TEXTS[0], label="a", against="b")),
    ):
        assert same((found.label, found.against), typed((expected.label, expected.against), names))
        assert same(found.probabilities, typed(expected.probabilities, names))
        assert found.contributions == expected.contributions
        assert json.loads(found.to_json())["label"] == found.label
        assert str(found.label) in found.to_html() and str(found).startswith(str(found.label))
    for asked, likewise in (
        ({"label": first}, {"label": "a"}),
        ({"positive": first, "negative": second}, {"positive": "a", "negative": "b"}),
        ({"word": "word1"}, {"word": "word1"}),
    ):
        found, expected = clf.words(**asked, top=3), twin.words(**likewise, top=3)
        assert [(word.text, word.weight) for word in found] == [(word.text, word.weight) for word in expected]
        assert [word.counts for word in found] == [typed(word.counts, names) for word in expected]


def test_numbers_are_sorted_as_numbers_whenever_they_come() -> None:
    clf = TextClassifier(analyzer="words").fit(["a", "b"], [9, 10])
    clf.partial_fit(["c", "d"], np.array([-100, 1000]), classes=[-100, 9, 10, 1000])
    assert clf.classes_.tolist() == [-100, 9, 10, 1000] == sorted(clf.classes_.tolist())
    assert clf.predict(["d", "c", "b", "a"]).tolist() == [1000, -100, 10, 9]
    clf.unlearn(["c"], [-100])
    assert clf.classes_.tolist() == [9, 10, 1000]
    with pytest.raises(LabelError, match=r"^the label 3 is not among classes=\[9, 10\]$"):
        clf.partial_fit(["a"], [3], classes=[9, 10])


@each_type
def test_copies_and_sums(names: list[Any]) -> None:
    clf, _ = pair(names)
    labels = labels_of(names)
    parts = [TextClassifier("multinomial", analyzer="words").learn(TEXTS[k::2], labels[k::2]) for k in (0, 1)]
    assert parts[0].merge(parts[1]).counts == clf.counts
    for twin in (copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        assert same(twin.predict(TEXTS).tolist(), clf.predict(TEXTS).tolist())
        assert twin.unlearn(TEXTS[1:], labels[1:]).classes_.tolist() == labels[:1]
    assert next(clf.counts.tables())["label"].type in ("int64", "bool")


def test_types_do_not_mix() -> None:
    clf = TextClassifier().learn(["a", "b"], [0, 1])
    words = "and others are of type int, such as 0: convert labels to int"
    for labels, word in ((["0"], "'0' is of type str"), ([True], "True is of type bool")):
        for method in (clf.learn, clf.unlearn, clf.partial_fit, clf.score):
            with pytest.raises(LabelError) as error:
                method(["a"], labels)
            assert str(error.value) == f"the label {word}, {words}"
        with pytest.raises(LabelError, match=f"^the label {word}, {words}$"):
            clf.merge(TextClassifier().learn(["a"], labels))
    assert clf.counts == TextClassifier().learn(["a", "b"], [0, 1]).counts
    clf.unlearn(["a", "b"], [0, 1])
    assert clf.learn(["a"], ["x"]).classes_.tolist() == ["x"]  # as one that never saw the others
    assert clf.fit(["a"], [True]).classes_.tolist() == [True]


def test_labels_that_are_not_there_are_told() -> None:
    clf = TextClassifier().learn(["a", "b", "c"], [0, 1, 20])
    for ask in (
        lambda: clf.explain("a", label=5),
        lambda: clf.words(5),
        lambda: clf.log_odds(["a"], positive=5, negative=1),
    ):
        with pytest.raises(LabelError, match=r"^there is no label 5: the labels are 0, 1, 20$"):
            ask()
    with pytest.raises(LabelError, match=r"^there is no label 5: thresholds are for 0, 1, 20$"):
        clf.predict_labels(["a"], threshold={5: 1.0})


@each_type
def test_several_labels_and_priors(names: list[Any]) -> None:
    sets = [[names[0]], names[:2], [names[1]], [names[0]]]
    clf = TextClassifier("multinomial", analyzer="words").learn(["a", "a b", "b", "a c"], sets)
    assert clf.predict_labels(["a", "b"], threshold={names[0]: 0.0}) == [{names[0]}, {names[1]}]
    strong = clf.with_model("multinomial", prior=dict.fromkeys(names, 1e-9) | {names[1]: 1.0})
    assert strong.predict(["a"]).tolist() == [names[1]]


@each_type
def test_evaluation(names: list[Any]) -> None:
    clf, twin = pair(names)
    labels, strings = labels_of(names), labels_of(STRINGS[: len(names)])
    labels[0], strings[0] = names[1], "b"  # a mistake, to be seen
    labels[1], strings[1] = names[0], "a"
    for found, expected in (
        (leave_one_out(clf, TEXTS, pd.Series(labels)), leave_one_out(twin, TEXTS, strings)),
        (cross_validate(clf, TEXTS, labels, 3), cross_validate(twin, TEXTS, strings, 3)),
    ):
        assert same(found.predictions.tolist(), typed(expected.predictions.tolist(), names))
        assert same(found.true, typed(expected.true, names)) and same(found.classes.tolist(), names)
        assert found.metrics.accuracy == expected.metrics.accuracy
        assert same(list(found.metrics.labels), names)
        told = found.to_dict()
        assert told["confusion"] == expected.to_dict()["confusion"] | {"labels": names} and json.dumps(told)
        assert "<svg" in found._repr_html_()
    page = evaluation_page(found, texts=TEXTS, classifier=clf)
    assert f"<bdi>{names[0]}</bdi>" in page
    assert same(loo_scores(clf, TEXTS, labels)[0].tolist(), names)
    assert learning_curve(clf, TEXTS, labels) == learning_curve(twin, TEXTS, strings)
    assert measure(labels, np.array(labels), labels=names).accuracy == 1.0


@each_type
def test_selection(names: list[Any]) -> None:
    clf, twin = pair(names)
    labels, strings = labels_of(names), labels_of(STRINGS[: len(names)])
    labels[0], strings[0] = names[1], "b"
    found, expected = audit(clf, TEXTS, labels), audit(twin, TEXTS, strings)
    assert [(s.row, s.given, s.suggested) for s in found.suspects] == [
        (s.row, typed(s.given, names), typed(s.suggested, names)) for s in expected.suspects
    ]
    assert found.suspects and type(found.suspects[0].suggested) is type(names[0])
    assert [word.feature for word in found.words(found.suspects[0])] == [
        word.feature for word in expected.words(expected.suspects[0])
    ]
    assert str(names[0]) in audit_page(found, found.suspects, [str(k) for k in range(60)])
    clf.set_calibration(calibrate(clf, TEXTS, labels))
    twin.set_calibration(calibrate(twin, TEXTS, strings))
    assert same(clf.explain(TEXTS[0]).probabilities, typed(twin.explain(TEXTS[0]).probabilities, names))
    models = ["multinomial", "binary"]
    rows = [compare(TEXTS, y, models=models, analyzers=["words"]).rows for y in (labels, strings)]
    assert [(row.model, row.metrics.accuracy) for row in rows[0]] == [
        (row.model, row.metrics.accuracy) for row in rows[1]
    ]


@each_type
def test_scikit_learn(names: list[Any]) -> None:
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_predict, cross_val_score

    labels = labels_of(names)
    kinds: list[Any] = [labels, np.array(labels), list(np.array(labels)), pd.Series(labels), pl.Series(labels)]
    frames = [pd.DataFrame({"text": TEXTS, "label": labels}), pl.DataFrame({"text": TEXTS, "label": labels})]
    clf = TextClassifier(analyzer="words")
    expected = cross_val_score(clf, TEXTS, labels_of(STRINGS[: len(names)]), cv=3).tolist()
    for texts, y in [(TEXTS, kind) for kind in kinds] + [(frame["text"], frame["label"]) for frame in frames]:
        assert cross_val_score(clf, texts, y, cv=3).tolist() == expected, type(y)
    chances = cross_val_predict(clone(clf).fit(TEXTS, labels), TEXTS, labels, cv=3, method="predict_proba")
    assert chances.shape == (60, len(names))


@pytest.mark.parametrize("keep", ["text", "nothing"])
def test_a_file_refuses_them(tmp_path: Any, keep: str) -> None:
    refused = r"^a file keeps labels as strings, and 1 is none: convert labels with str$"
    with bunrui.create(tmp_path / "x.bunrui", keep=keep) as clf:
        with pytest.raises(LabelError, match=refused):
            clf.learn(["a"], [1])
        if keep == "nothing":
            with pytest.raises(LabelError, match=refused):
                clf.merge(TextClassifier().learn(["a"], [1]))
        clf.learn(["a"], ["1"])
        with pytest.raises(LabelError, match=refused):
            clf.rename_label("1", 1)  # type: ignore[arg-type]
        assert clf.classes_.tolist() == ["1"] and len(clf.history()) == 1
