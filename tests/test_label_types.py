"""Labels that are integers or booleans: what a classifier with strings says, in the type that it was given."""

from __future__ import annotations

import copy
import json
import pickle
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bunrui
from bunrui import TextClassifier
from bunrui.errors import DamagedError, LabelError
from bunrui.evaluation import cross_validate, learning_curve, leave_one_out, loo_scores, measure
from bunrui.labels import label_of, text_of
from bunrui.report import audit_page, evaluation_page
from bunrui.selection import audit, calibrate, compare
from tests.store.probing import reseal

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
        assert text_of(found.label) in found.to_html() and str(found).startswith(text_of(found.label))
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
    with pytest.raises(LabelError, match="is of type bytes, and others are"):
        copy.deepcopy(clf).counts.add_labels([b"x"])  # type: ignore[list-item]
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
        with pytest.raises(
            LabelError, match=r"^the labels of the other classifier are .*, and those of this .*integers"
        ):
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
    assert f"<bdi>{text_of(names[0])}</bdi>" in page
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
    assert text_of(names[0]) in audit_page(found, found.suspects, [str(k) for k in range(60)])
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


# --- in files


@each_type
@pytest.mark.parametrize("model", ["auto", "multinomial", "nbsvm", "arow"])
def test_a_file_answers_as_the_memory_does(names: list[Any], model: str, tmp_path: Path) -> None:
    labels = labels_of(names)
    memory = TextClassifier(model, analyzer="words").learn(TEXTS, labels)
    with bunrui.create(tmp_path / "a", model, analyzer="words") as clf:
        clf.learn(TEXTS, np.array(labels))
    with bunrui.open(tmp_path / "a") as clf:
        assert same(clf.classes_.tolist(), names) and clf.classes_.dtype == memory.classes_.dtype
        assert same(clf.predict(TEXTS).tolist(), memory.predict(TEXTS).tolist())
        assert clf.scores(TEXTS).tobytes() == memory.scores(TEXTS).tobytes()
        assert same(clf.explain(TEXTS[0]).probabilities, memory.explain(TEXTS[0]).probabilities)
        assert same([word.counts for word in clf.words(names[0])], [word.counts for word in memory.words(names[0])])
        assert same([document.labels for document in clf.documents()], [[label] for label in labels])
        assert clf.to_sklearn().predict(TEXTS).tolist() == memory.predict(TEXTS).tolist()
        assert clf.label_type is type(names[0]) and clf.info()["labels"] == {n: labels.count(n) for n in names}
        clf.slim(tmp_path / "slim")
    with bunrui.open(tmp_path / "slim") as clf:
        assert same(clf.predict(TEXTS).tolist(), memory.predict(TEXTS).tolist())


@pytest.mark.parametrize("keep", ["text", "digests", "nothing"])
@pytest.mark.parametrize(("one", "two", "new"), [(-7, 10, 9), (True, False, None)])
def test_a_file_changes_labels_of_any_type(one: Any, two: Any, new: Any, keep: str, tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "a", "multinomial", keep=keep) as clf:
        clf.learn(["a", "b", "c"], [one, two, one])
        before = clf.counts.copy()
        if keep != "nothing":
            assert clf.relabel(np.array([two])[0], texts=["a"]) == 1
            assert clf.unlearn(["a"], [two]).classes_.tolist() == sorted([one, two])
            clf.undo_to(1)
        if new is not None:
            assert clf.rename_label(np.int64(one), new) == 2 and clf.classes_.tolist() == sorted([new, two])
            clf.undo()
        assert clf.move_label(one, two) == 2 and same(clf.classes_.tolist(), [two])
        clf.undo()
        assert clf.drop_label(two) == 1 and same(clf.classes_.tolist(), [one])
        clf.undo()
        assert clf.counts == before
        clf.compact()
        with bunrui.open(clf.path) as again:
            assert again.counts == before and again.check().is_right
            assert same(again.classes_.tolist(), sorted([one, two]))


@pytest.mark.parametrize("keep", ["text", "nothing"])
def test_types_do_not_mix_in_a_file(keep: str, tmp_path: Path) -> None:
    with (
        bunrui.create(tmp_path / "a", keep=keep) as clf,
        bunrui.create(tmp_path / "b", keep=keep) as other,
        bunrui.create(tmp_path / "c", keep=keep) as both,
    ):
        clf.learn(["a", "b"], [0, 1])
        other.learn(["c"], ["1"])
        words = "and others are of type int, such as 0: convert labels to int"
        for change in (
            lambda: clf.learn(["a"], ["1"]),
            lambda: clf.unlearn(["b"], ["1"]),
            lambda: clf.rename_label(0, "1"),
            lambda: clf.move_label(0, "1"),
            lambda: clf.drop_label("1"),
        ):
            with pytest.raises(LabelError, match=f"^the label '1' is of type str, {words}$"):
                change()
        with pytest.raises(LabelError, match=r"^the label True is of type bool"):
            clf.drop_label(True)
        for target, sources in ((clf, [other]), (both, [clf, other])):
            with pytest.raises(LabelError) as error:
                target.merge(*sources)
            assert str(error.value) == (
                f"the labels of {other.path} are strings, and those of {clf.path} are integers: learn the documents of "
                "one of the two again, with labels of the other type"
            )
        assert [len(one.history()) for one in (clf, other, both)] == [1, 1, 0]
        assert both.merge(clf).classes_.tolist() == [0, 1]
        clf.undo()
        assert clf.learn(["a"], ["x"]).classes_.tolist() == ["x"]  # as one that never saw the others


def test_true_is_not_1(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "a", "multinomial", prior={2: 0.5, True: 0.5}) as clf:
        clf.learn(["a", "b"], [1, 2])
        digest = next(iter(clf.documents())).digest
        for ask in (
            lambda: clf.predict(["a"]),
            lambda: clf.predict_labels(["a"], threshold={2: 1, True: 1}),
            lambda: clf.relabel_each([(digest, [True], [2])]),
            lambda: clf.relabel_each([(digest, [1], [True])]),
        ):
            with pytest.raises(LabelError, match=r"^the label True is of type bool, and others are of type int"):
                ask()


def test_a_prior_keeps_its_labels(tmp_path: Path) -> None:
    prior = {np.int64(1): 0.9, 10: 0.1}
    bunrui.create(tmp_path / "a", "multinomial", prior=prior).close()
    with bunrui.open(tmp_path / "a") as clf:
        clf.learn(["a", "b"], [1, 10])
        memory = TextClassifier("multinomial", prior=prior).learn(["a", "b"], [1, 10])
        assert clf.prior == prior and clf.scores(["b"]).tobytes() == memory.scores(["b"]).tobytes()
        clf.configure(prior={1: 0.2, 10: 0.8})
    with bunrui.open(tmp_path / "a") as clf:
        assert clf.prior == {1: 0.2, 10: 0.8}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE meta SET value = '\"float\"' WHERE key = 'label_type'", "does not say which type its labels have"),
        ("UPDATE labels SET name = 'x' WHERE name = '1'", "has a label of another type than it says"),
        ("UPDATE labels SET name = '01' WHERE name = '1'", "has a label of another type than it says"),
    ],
)
def test_a_file_with_other_labels_than_it_says_is_damaged(change: str, said: str, tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "a") as clf:
        clf.learn(["a", "b"], [0, 1])
    with closing(sqlite3.connect(tmp_path / "a")) as db:
        db.execute(change)
        db.commit()
    reseal(tmp_path / "a")
    with pytest.raises(DamagedError, match=said):
        bunrui.open(tmp_path / "a")


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=6, unique=True), st.data())
@settings(max_examples=25)
def test_any_integers_come_back(labels: list[int], data: st.DataObject) -> None:
    texts = [f"word{k} common" for k in range(len(labels))]
    memory = TextClassifier("multinomial").learn(texts, labels)
    with tempfile.TemporaryDirectory() as folder, bunrui.create(Path(folder, "a"), "multinomial") as clf:
        for place in data.draw(st.permutations(range(len(labels)))):
            clf.learn([texts[place]], [labels[place]])
        with bunrui.open(clf.path) as again:
            assert again.classes_.tolist() == sorted(labels)
            assert again.predict(["common"]).tolist() == memory.predict(["common"]).tolist()  # a tie
            assert again.scores(texts).tobytes() == memory.scores(texts).tobytes()


@given(st.text(st.sampled_from("-+0123456789. _１٣e\n") | st.characters(), max_size=22))
def test_a_text_stands_for_one_integer_or_none(text: str) -> None:
    """Else two texts would be one label, and a label would not come back as it was written."""
    try:
        found = label_of(text, int)
    except LabelError:
        with suppress(ValueError):
            assert str(int(text)) != text or not -(1 << 63) <= int(text) < 1 << 63
    else:
        assert type(found) is int and text_of(found) == text


def test_a_file_without_documents_goes_on_with_the_type_of_its_log(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "a.bunrui") as clf:
        clf.learn(["a"], [-1]).unlearn(["a"], [-1])
    with bunrui.open(tmp_path / "a.bunrui") as clf:
        assert clf.label_type is int and clf.info()["label_type"] == "int" and clf.label_named("5") == 5
        clf.compact()
        assert clf.label_type is None
        clf.learn(["a"], ["spam"])
