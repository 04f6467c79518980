"""A calibration in a file: kept, undone, shared, checked."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bunrui
from bunrui import StoredClassifier
from bunrui.errors import DamagedError, LabelError, OptionError, StoreError, UnlearnError
from bunrui.selection import calibrate
from tests.store.probing import reseal

TEXTS = ["cheap pills", "pills now", "meeting at noon", "lunch at noon", "see you"] * 8
LABELS = ["spam", "spam", "ham", "ham", "ham"] * 8
QUERIES = ["pills at noon", "lunch", ""]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "mail.bunrui")


@pytest.fixture
def clf(path: str) -> StoredClassifier:
    return bunrui.create(path).learn(TEXTS, LABELS)


def same(one: StoredClassifier, other: StoredClassifier) -> bool:
    return bool((one.predict_proba(QUERIES) == other.predict_proba(QUERIES)).all())


def test_it_is_in_the_file(path: str, clf: StoredClassifier) -> None:
    raw = clf.predict_proba(QUERIES)
    found = calibrate(clf)
    assert (found.n_docs, found.tx) == (40, 1)
    assert not (clf.predict_proba(QUERIES) == raw).all()
    with bunrui.open(path) as again:
        assert again.calibration == found and again.is_calibrated and same(again, clf)
        assert again.info()["calibration"] == {
            "model": "binary-complement",
            "n_docs": 40,
            "ece_before": found.ece_before,
            "ece_after": found.ece_after,
            "log_loss_before": found.log_loss_before,
            "log_loss_after": found.log_loss_after,
            "applies": True,
            "changed_since": 0,
        }
    assert [entry.kind for entry in clf.history()] == ["learn", "calibrate"]


def test_a_file_without_one(clf: StoredClassifier) -> None:
    assert clf.calibration is None and clf.info()["calibration"] is None


def test_undo(path: str, clf: StoredClassifier) -> None:
    raw = clf.predict_proba(QUERIES)
    first = calibrate(clf)
    clf.learn(["cheap lunch"] * 3, ["spam"] * 3)
    second = calibrate(clf)
    assert second != first
    assert clf.undo() == ("calibrate", 0) and clf.calibration == first
    clf.undo()
    assert clf.calibration == first
    assert clf.undo() == ("calibrate", 0) and clf.calibration is None
    assert (clf.predict_proba(QUERIES) == raw).all()
    with bunrui.open(path) as again:
        assert again.calibration is None


def test_no_calibration_is_a_change_too(path: str, clf: StoredClassifier) -> None:
    found = calibrate(clf)
    clf.set_calibration(None)
    assert bunrui.open(path).calibration is None
    clf.undo()
    assert clf.calibration == found


def test_other_settings_and_back(path: str, clf: StoredClassifier) -> None:
    calibrate(clf)
    clf.configure(model="multinomial")
    assert not clf.is_calibrated and not clf.info()["calibration"]["applies"]
    with bunrui.open(path) as again:
        assert again.calibration is not None and not again.is_calibrated
    clf.configure(model="binary-complement")
    assert clf.is_calibrated
    clf.undo()
    clf.undo()
    assert clf.is_calibrated


def test_another_model_of_the_same_file_does_not_write(path: str, clf: StoredClassifier) -> None:
    twin = clf.with_model("multinomial")
    found = calibrate(twin)
    assert twin.is_calibrated and found.model == "multinomial"
    assert clf.calibration is None and bunrui.open(path).calibration is None


def test_readers_follow(path: str, clf: StoredClassifier) -> None:
    with bunrui.open(path, read_only=True) as reader:
        reader.predict(QUERIES)
        calibrate(clf)
        assert reader.refresh() and same(reader, clf)
        assert not reader.refresh()
        clf.undo()
        assert reader.refresh() and reader.calibration is None


def test_stale(path: str, clf: StoredClassifier) -> None:
    def changed() -> Any:
        return clf.info()["calibration"]["changed_since"]

    calibrate(clf)
    clf.configure(alpha=0.5)
    clf.rename_label("ham", "work")
    assert changed() == 0
    clf.learn(["cheap lunch"] * 3, ["spam"] * 3)
    assert changed() == 3
    clf.undo()
    assert changed() == 0
    clf.unlearn(["see you"], ["work"])
    clf.relabel("spam", texts=["lunch at noon"])
    assert changed() == 9
    clf.compact()
    assert changed() == 9


def test_a_small_copy_keeps_it_unless_it_is_another_model(path: str, clf: StoredClassifier, tmp_path: Path) -> None:
    calibrate(clf)
    clf.slim(tmp_path / "small.bunrui")
    with bunrui.open(tmp_path / "small.bunrui") as small:
        assert small.is_calibrated and same(small, clf) and small.info()["calibration"]["changed_since"] == 0
        with pytest.raises(OptionError, match="keeps no texts"):
            calibrate(small)
    clf.slim(tmp_path / "pruned.bunrui", min_df=2)
    assert bunrui.open(tmp_path / "pruned.bunrui").calibration is None


def test_read_only(path: str, clf: StoredClassifier) -> None:
    clf.close()
    with bunrui.open(path, read_only=True) as reader:
        with pytest.raises(StoreError, match="was opened for reading only: open it with read_only=False to calibrate"):
            calibrate(reader)
        assert reader.calibration is None


def test_trained_models_go_on_after_it(path: str) -> None:
    with bunrui.create(path, "arow") as clf:
        clf.learn(TEXTS, LABELS)
        clf.predict(QUERIES)
        calibrate(clf)
        scores = clf.scores(QUERIES)
        assert clf.is_calibrated
        with bunrui.open(path) as again:
            assert (again.scores(QUERIES) == scores).all() and same(again, clf)


def test_documents_learned_as_tokens_and_as_texts(clf: StoredClassifier) -> None:
    clf.learn([["cheap", "pills"], ["noon"]], ["spam", "ham"])
    assert calibrate(clf).n_docs == 42


# --- what a file may not say


def change(path: str, **fields: Any) -> None:
    db = sqlite3.connect(path)
    settings = json.loads(db.execute("SELECT value FROM meta WHERE key = 'settings'").fetchone()[0])
    calibration = settings["calibration"]
    for name, value in fields.items():
        if value is ...:
            del calibration[name]
        else:
            calibration[name] = value
    db.execute("UPDATE meta SET value = ? WHERE key = 'settings'", (json.dumps(settings),))
    db.commit()
    db.close()
    reseal(path)


@pytest.mark.parametrize(
    "fields",
    [
        {"level": float("nan")},
        {"slope": 1e9},
        {"confidences": [1.0, 0.0]},
        {"confidences": [0.1] * 1000, "accuracies": [0.1] * 1000},
        {"accuracies": "x"},
        {"errors": [0.0, 1.0], "thresholds": [0.0, 1.0]},
        {"n_docs": "many"},
        {"tx": -1},
        {"options": ["x"]},
        {"level": ...},
        {"unheard": 1},
    ],
    ids=str,
)
def test_damage_is_told(path: str, clf: StoredClassifier, fields: dict[str, Any]) -> None:
    calibrate(clf)
    change(path, **fields)
    with pytest.raises(DamagedError, match="is damaged: its calibration makes no sense"):
        bunrui.open(path)
    with pytest.raises(DamagedError, match="is damaged: its calibration makes no sense"):
        clf.refresh()


@pytest.mark.parametrize("value", [3, "x", [1], {}, True])
def test_something_else_in_its_place(path: str, clf: StoredClassifier, value: Any) -> None:
    db = sqlite3.connect(path)
    settings = json.loads(db.execute("SELECT value FROM meta WHERE key = 'settings'").fetchone()[0])
    db.execute("UPDATE meta SET value = ? WHERE key = 'settings'", (json.dumps(settings | {"calibration": value}),))
    db.commit()
    db.close()
    reseal(path)
    with pytest.raises(DamagedError):
        bunrui.open(path)


def test_a_note_that_was_changed_restores_nothing_that_is_not_checked(path: str, clf: StoredClassifier) -> None:
    calibrate(clf)
    db = sqlite3.connect(path)
    (note,) = db.execute("SELECT note FROM transactions WHERE kind = 'calibrate'").fetchone()
    before = json.loads(note)
    before["before"]["calibration"] = {"level": 1}
    db.execute("UPDATE transactions SET note = ? WHERE kind = 'calibrate'", (json.dumps(before),))
    db.commit()
    db.close()
    reseal(path)
    with pytest.raises(DamagedError):
        clf.undo()


# --- relabelling one by one


def digest_of(clf: StoredClassifier, text: str) -> str:
    return next(document.digest for document in clf.documents() if document.text == text)


def labels_of(clf: StoredClassifier) -> dict[str, list[str]]:
    return {document.text: document.labels for document in clf.documents()}


@pytest.fixture
def four(path: str) -> StoredClassifier:
    return bunrui.create(path).learn(["a", "b", "c", "d"], ["x", "x", "y", ["x", "y"]])


def test_each_gets_its_own_label_in_one_change(four: StoredClassifier) -> None:
    changes = [("a", ["x"], ["y"]), ("b", ["x"], ["z"]), ("d", ["y", "x"], ["y"])]
    assert four.relabel_each([(digest_of(four, text), has, gets) for text, has, gets in changes]) == 3
    assert labels_of(four) == {"a": ["y"], "b": ["z"], "c": ["y"], "d": ["y"]}
    fresh = bunrui.TextClassifier().learn(["a", "b", "c", "d"], ["y", "z", "y", "y"])
    assert four.counts == fresh.counts and four.check().is_right
    assert [entry.kind for entry in four.history()] == ["learn", "relabel"]
    assert four.undo() == ("relabel", 3)
    assert labels_of(four)["b"] == ["x"]


def test_copies_with_other_labels_stay(four: StoredClassifier) -> None:
    four.learn(["a"], ["y"])
    four.relabel_each([(digest_of(four, "a"), ["x"], ["z"])])
    assert sorted(document.labels for document in four.documents() if document.text == "a") == [["y"], ["z"]]


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ([("0" * 32, ["x"], ["y"])], UnlearnError, "no document that is learned has the digest"),
        ([("a", ["y"], ["x"])], UnlearnError, r"some documents do not have the label 'y' \(any more\)"),
        ([("b", ["x"], ["z"]), ("a", ["y"], ["x"])], UnlearnError, "some documents do not have the label 'y'"),
        ([("a", ["x"], [""])], LabelError, "empty"),
        ([("a", ["x"], ["y"]), ("a", ["y"], ["x"])], LabelError, "should not swap its labels"),
        ([("x", ["x"], ["y"])], OptionError, "a digest has 32 hexadecimal digits"),
    ],
)
def test_all_or_none(four: StoredClassifier, changes: list[Any], kind: type[Exception], message: str) -> None:
    before, counts = labels_of(four), four.counts.copy()
    texts = {document.text: document.digest for document in four.documents()}
    with pytest.raises(kind, match=message):
        four.relabel_each([(texts.get(text, text), has, gets) for text, has, gets in changes])
    assert labels_of(four) == before and four.counts == counts and len(four.history()) == 1


def test_nothing_to_relabel(four: StoredClassifier) -> None:
    assert four.relabel_each([]) == 0 == four.relabel_each([(digest_of(four, "a"), ["x"], ["x"])])
    assert len(four.history()) == 1


def test_scores_stay_raw(clf: StoredClassifier) -> None:
    scores = clf.scores(QUERIES)
    calibrate(clf)
    np.testing.assert_array_equal(clf.scores(QUERIES), scores)
