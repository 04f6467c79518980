"""The weights of a trained model in a file: they save the time of training, and change no answer."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bunrui
from bunrui import StoredClassifier, TextClassifier
from bunrui.errors import DamagedError, OptionError, StoreError
from bunrui.models.kinds import TRAINED, is_kept
from bunrui.selection import calibrate
from bunrui.store import weights
from bunrui.store.codec import Unpacker, pack, pack_json
from tests.support.examples import examples, quick

KEPT = tuple(filter(is_kept, TRAINED))
TEXTS = [f"cheap pills {k % 7} x{k % 5}" if k % 2 else f"meeting at noon {k % 3} z{k % 4}" for k in range(40)]
LABELS = ["spam" if k % 2 else "ham" for k in range(40)]
THREE = ["third" if k % 5 == 4 else label for k, label in enumerate(LABELS)]
QUERIES = ["cheap pills", "noon meeting x3", "third one", "zzz", ""]
VARIANTS: list[dict[str, Any]] = [{}, {"min_df": 3}, {"max_features": 7}]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mail.bunrui"


def learned(path: Path, model: str, labels: list[str] = LABELS, **options: Any) -> StoredClassifier:
    return bunrui.create(path, model, **options).learn(TEXTS, labels)


def rows(path: Path) -> dict[tuple[str, int], bytes]:
    db = sqlite3.connect(path)
    found = {(name, part): content for name, part, content in db.execute("SELECT name, part, content FROM weights")}
    db.close()
    return found


def edit(path: Path, *statements: Any) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(*statement if isinstance(statement, tuple) else (statement,))
    db.close()


def scores_of(path: Path) -> np.ndarray:
    with bunrui.open(path, read_only=True) as clf:
        return clf.scores(QUERIES)


def trained_again(path: Path, folder: Path) -> np.ndarray:
    """The scores of a file from which somebody took the weights."""
    copy = Path(shutil.copy(path, folder / "without.bunrui"))
    edit(copy, "DELETE FROM weights")
    found = scores_of(copy)
    copy.unlink()
    return found


def without_log(path: Path) -> None:
    """Take the documents away: whoever trains a model from this file fails."""
    edit(path, "DELETE FROM documents")


# --- a new process answers at once, with the same bits


@pytest.mark.parametrize("options", VARIANTS, ids=str)
@pytest.mark.parametrize("labels", [LABELS, THREE], ids=["two", "three"])
@pytest.mark.parametrize("model", KEPT)
def test_answers_need_no_training(
    path: Path, tmp_path: Path, model: str, labels: list[str], options: dict[str, Any]
) -> None:
    with learned(path, model, labels, **options) as clf:
        assert clf.is_trained
        expected = clf.scores(QUERIES)
        words, explained = clf.words("spam", top=3), clf.explain(QUERIES[0])
    assert np.array_equal(trained_again(path, tmp_path), expected)
    with bunrui.open(path, read_only=True) as clf:
        assert clf.check().is_right
        assert "the weights, trained again from the texts" in clf.check().right
    without_log(path)
    with bunrui.open(path, read_only=True) as clf:
        assert clf.is_trained
        assert np.array_equal(clf.scores(QUERIES), expected)
        assert clf.words("spam", top=3) == words
        assert clf.explain(QUERIES[0]) == explained


@pytest.mark.parametrize("model", KEPT)
def test_a_question_writes_nothing(path: Path, model: str) -> None:
    with learned(path, model) as clf:
        clf.learn(TEXTS[:3], LABELS[:3])
    before = path.read_bytes()
    for read_only in (True, False):
        with bunrui.open(path, read_only=read_only) as clf:
            clf.predict(QUERIES)
            clf.explain(QUERIES[0])
            clf.words("spam")
            clf.info()
            clf.check()
    assert path.read_bytes() == before


def test_models_without_weights_keep_none(path: Path) -> None:
    for model in ("multinomial", "aode"):
        with learned(path, model) as clf:
            assert clf.is_trained == (model == "multinomial")
            with pytest.raises(
                OptionError, match=f"{model} has no weights that a file keeps: choose one of twcnb, nbsvm, arow"
            ):
                clf.train()
        assert rows(path) == {}
        path.unlink()


def test_one_label_tells_nothing_apart(path: Path) -> None:
    with bunrui.create(path, "arow") as clf:
        clf.learn(TEXTS[:4], ["spam"] * 4)
        assert rows(path) == {}
        assert not clf.train()
        clf.learn(["noon"], ["ham"])
        assert clf.is_trained
        expected = clf.scores(QUERIES)
    assert np.array_equal(scores_of(path), expected)


@pytest.mark.parametrize("model", KEPT)
def test_exports_have_all_that_training_gives(path: Path, model: str) -> None:
    with learned(path, model) as clf:
        expected = clf.to_sklearn().predict(QUERIES).tolist()
    with bunrui.open(path) as clf:
        assert clf.predict(QUERIES).tolist() == expected
        exported = clf.to_sklearn()
        assert exported.predict(QUERIES).tolist() == expected
        exported[-1].partial_fit(exported[0].transform(TEXTS[:2]), LABELS[:2]) if model == "arow" else None


# --- when they are written


@pytest.mark.parametrize("model", KEPT)
def test_changes_train_when_documents_have_doubled(path: Path, model: str) -> None:
    trained = []
    with bunrui.create(path, model) as clf:
        for k in range(0, 40, 4):
            clf.learn(TEXTS[k : k + 4], LABELS[k : k + 4])
            trained.append(clf.is_trained)
    assert trained == [k + 1 in (1, 2, 4, 8) for k in range(10)]


@pytest.mark.parametrize("model", KEPT)
def test_training_when_it_is_asked_for(path: Path, model: str) -> None:
    with learned(path, model) as clf:
        clf.unlearn(TEXTS[:3], LABELS[:3])
        clf.learn(TEXTS[:1], LABELS[:1])
        assert not clf.is_trained
        clf.train()
        assert clf.is_trained
        expected = clf.scores(QUERIES)
        with pytest.raises(OptionError, match="not of one that with_model gives"):
            clf.with_model("nbsvm" if model == "arow" else "arow").train()
    with bunrui.open(path, read_only=True) as clf:
        assert clf.is_trained
        assert np.array_equal(clf.scores(QUERIES), expected)
        with pytest.raises(StoreError, match="opened for reading only"):
            clf.train()


@pytest.mark.parametrize("model", KEPT)
def test_training_after_changes_that_leave_the_documents(path: Path, model: str) -> None:
    with learned(path, model) as clf:
        clf.learn(TEXTS[:3], LABELS[:3])
        clf.predict(QUERIES)  # trains it in memory
        calibrate(clf)
        assert clf.train() and clf.is_trained
        assert clf.check().is_right
        expected = clf.scores(QUERIES)
        clf.compact()
        assert clf.train() and clf.is_trained
    without_log(path)
    assert np.array_equal(scores_of(path), expected)


@pytest.mark.parametrize("kind", ["learn", "set"])
def test_training_while_others_change_the_file(path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pack_weights = weights.pack_weights

    def pack_late(*args: Any) -> Any:
        """The weights, after another has changed the file."""
        monkeypatch.undo()
        with bunrui.open(path) as other:
            other.learn(["more words"], ["ham"]) if kind == "learn" else other.configure(model="arow")
        return pack_weights(*args)

    with learned(path, "nbsvm") as clf:
        monkeypatch.setattr(weights, "pack_weights", pack_late)
        with pytest.raises(StoreError, match="and nothing was kept: train it again"):
            clf.train()
        clf.refresh()
        assert clf.is_trained == (kind == "set")  # the other has trained it
        assert clf.train() and clf.is_trained
        expected = clf.scores(QUERIES)
    without_log(path)
    assert np.array_equal(scores_of(path), expected)


def test_setting_a_model_trains_it(path: Path) -> None:
    with learned(path, "multinomial") as clf:
        clf.configure(model="arow")
        assert clf.is_trained and rows(path)
        expected = clf.scores(QUERIES)
        clf.configure(model="multinomial")
        clf.configure(model="arow")  # nothing was lost meanwhile
        clf.configure(model="multinomial")
        clf.learn(["one more"], ["ham"])
        clf.undo()
        assert not clf.with_model("arow").is_trained
        clf.configure(model="nbsvm")
        assert clf.is_trained
        clf.configure(model="arow")
    without_log(path)
    assert np.array_equal(scores_of(path), expected)


def test_weights_are_of_their_options_and_version(path: Path, tmp_path: Path) -> None:
    with learned(path, "nbsvm") as clf:
        other = clf.with_model(alpha=2.0)
        assert not other.is_trained
        assert not np.array_equal(other.scores(QUERIES), clf.scores(QUERIES))
        clf.configure(alpha=2.0)
        assert clf.is_trained and other.is_trained
        expected = clf.scores(QUERIES)
    change_heading(path, version="0.0.1")
    with bunrui.open(path) as clf:
        assert not clf.is_trained
        assert np.array_equal(clf.scores(QUERIES), expected)
        clf.learn(["one more"], ["ham"])  # which finds that they are of another version
        assert clf.is_trained


# --- learning more, and taking back


@pytest.mark.parametrize("n_labels", [2, 3])
def test_arow_goes_on(path: Path, tmp_path: Path, n_labels: int) -> None:
    labels = LABELS if n_labels == 2 else [*LABELS[:30], *THREE[30:]]
    expected = TextClassifier("arow").learn(TEXTS[:30], labels[:30])
    with bunrui.create(path, "arow") as clf:
        clf.learn(TEXTS[:30], labels[:30])
    for k in range(30, 36, 2):
        expected.learn(TEXTS[k : k + 2], labels[k : k + 2])
        with bunrui.open(path) as clf:  # each time a new process, but for the process
            clf.learn(TEXTS[k : k + 2], labels[k : k + 2])
            assert not clf.is_trained
            assert np.array_equal(clf.scores(QUERIES), expected.scores(QUERIES))
    assert np.array_equal(trained_again(path, tmp_path), expected.scores(QUERIES))
    with bunrui.open(path) as clf:
        assert "the weights, trained again from the texts" in clf.check().right
    edit(path, "UPDATE documents SET text = x'00' WHERE block = 1")  # what was learned before is not read again
    assert np.array_equal(scores_of(path), expected.scores(QUERIES))


def test_arow_goes_on_when_changes_were_joined(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bunrui.store import store

    monkeypatch.setattr(store, "_MOST_DELTAS", 3)
    expected = TextClassifier("arow").learn(TEXTS[:30], LABELS[:30])
    with bunrui.create(path, "arow") as clf:
        clf.learn(TEXTS[:30], LABELS[:30])
    for k in range(30, 40):
        expected.learn(TEXTS[k : k + 1], LABELS[k : k + 1])
        with bunrui.open(path) as clf:
            clf.learn(TEXTS[k : k + 1], LABELS[k : k + 1])
        # Whoever trains it from the start reads the first block, too.
        copy = Path(shutil.copy(path, tmp_path / "copy.bunrui"))
        edit(copy, "UPDATE documents SET times = x'00' WHERE block = 1")
        assert np.array_equal(scores_of(copy), expected.scores(QUERIES))
    assert np.array_equal(trained_again(path, tmp_path), expected.scores(QUERIES))


@pytest.mark.parametrize("model", ["nbsvm", "twcnb"])
def test_others_are_trained_at_the_next_question(path: Path, tmp_path: Path, model: str) -> None:
    with learned(path, model) as clf:
        before = clf.scores(QUERIES)
        clf.learn(["third one is new"], ["ham"])
        assert not clf.is_trained
        expected = clf.scores(QUERIES)
        assert not np.array_equal(expected, before)
    assert np.array_equal(scores_of(path), expected)
    assert np.array_equal(trained_again(path, tmp_path), expected)
    with bunrui.open(path) as clf:
        report = clf.check()
        assert report.is_right and any("learned since" in line for line in report.unknown)


CHANGES: dict[str, Callable[[StoredClassifier], Any]] = {
    "unlearn": lambda clf: clf.unlearn(TEXTS[:2], LABELS[:2]),
    "relabel": lambda clf: clf.relabel("ham", texts=TEXTS[1:2]),
    "forget": lambda clf: clf.forget(source="a.csv"),
    "undo": lambda clf: clf.undo(),
    "rename": lambda clf: clf.rename_label("ham", "good"),
    "drop": lambda clf: clf.drop_label("third"),
    "move": lambda clf: clf.move_label("third", "ham"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("model", KEPT)
def test_other_changes_drop_them(path: Path, tmp_path: Path, model: str, change: str) -> None:
    with learned(path, model, THREE) as clf:
        clf.learn(["one more"], ["ham"], sources=["a.csv"])
        clf.train()
        CHANGES[change](clf)
        assert not clf.is_trained
        assert [name for name, _ in rows(path)] == ["heading"]
        expected = clf.scores(QUERIES)
    np.testing.assert_allclose(scores_of(path), expected, rtol=1e-9, atol=1e-12)
    assert np.array_equal(scores_of(path), trained_again(path, tmp_path))


@pytest.mark.parametrize("model", KEPT)
def test_a_merge_drops_them(path: Path, tmp_path: Path, model: str) -> None:
    with bunrui.create(tmp_path / "other.bunrui", model) as other, learned(path, model) as clf:
        other.learn(["another one"], ["ham"])
        clf.merge(other)
        assert not clf.is_trained
        clf.train()
        assert clf.is_trained
    assert np.array_equal(scores_of(path), trained_again(path, tmp_path))


@pytest.mark.parametrize("model", KEPT)
def test_compacting_leaves_them_as_they_should_be(path: Path, model: str) -> None:
    with learned(path, model) as clf:
        clf.compact()
        before = rows(path)
        assert clf.is_trained
        clf.learn(["unique words of one document"], ["ham"])
        clf.train()
        clf.unlearn(["unique words of one document"], ["ham"])
        clf.compact()
        assert clf.is_trained
        assert b"unique" not in path.read_bytes()
        after = rows(path)
    assert {key: after[key] for key in before if key[0] != "heading"} == {
        key: content for key, content in before.items() if key[0] != "heading"
    }
    with bunrui.open(path) as clf:
        assert "the weights, trained again from the texts" in clf.check().right
        clf.configure(model="multinomial")
        clf.compact()
        assert rows(path) == {}


@pytest.mark.parametrize("model", KEPT)
def test_weights_after_compacting_are_those_of_the_new_ids(path: Path, model: str) -> None:
    with bunrui.create(path, model) as clf:
        clf.learn(["a word that goes"], ["ham"])
        clf.learn(TEXTS, LABELS)
        clf.unlearn(["a word that goes"], ["ham"])
    with bunrui.open(path) as clf:  # which still has an id for that word
        clf.compact()
        clf.train()
        expected = clf.scores(QUERIES)
    without_log(path)
    assert np.array_equal(scores_of(path), expected)


@pytest.mark.parametrize("model", KEPT)
def test_weights_of_another_process_after_an_undo(path: Path, model: str, caplog: pytest.LogCaptureFixture) -> None:
    """Who has undone a learn has more ids than the process that trained since: no file is damaged by that."""
    with learned(path, model) as clf:
        clf.learn(["brand new words"], ["ham"])
        clf.undo()
        with bunrui.open(path) as other:
            assert other.train()
            expected = other.scores(QUERIES)
        assert np.array_equal(clf.scores(QUERIES), expected)
        assert clf.check().is_right
        assert clf.train() and clf.is_trained
    assert [record for record in caplog.records if record.name.startswith("bunrui")] == []
    assert np.array_equal(scores_of(path), expected)


# --- slim copies


@pytest.mark.parametrize("min_df", [1, 3])
@pytest.mark.parametrize("model", KEPT)
def test_a_slim_copy_predicts(path: Path, tmp_path: Path, model: str, min_df: int) -> None:
    copy, again = tmp_path / "slim.bunrui", tmp_path / "again.bunrui"
    with learned(path, model, THREE) as clf:
        clf.learn(["gone for good"], ["ham"])
        clf.unlearn(["gone for good"], ["ham"])
        assert clf.slim(copy, min_df=min_df) == min_df
        expected = clf.with_model(min_df=min_df).scores(QUERIES)
    with bunrui.open(copy) as clf:
        assert (clf.keep, clf.model, clf.is_trained) == ("nothing", model, True)
        assert np.array_equal(clf.scores(QUERIES), expected)
        if model != "nbsvm":
            with pytest.raises(OptionError, match="is trained from documents, and"):
                clf.to_sklearn()
        assert clf.words("spam", top=1) and clf.explain(QUERIES[0]).contributions
        report = clf.check()
        assert report.is_right and "weights: checksums, bounds" in report.right
        for change in (clf.learn, clf.unlearn):
            with pytest.raises(StoreError, match="no documents to train it again: "):
                change(TEXTS[:1], LABELS[:1])
        clf.configure(model="multinomial")
        clf.compact()
        clf.configure(model=model)
        assert np.array_equal(clf.scores(QUERIES), expected)
        clf.slim(again)
        with pytest.raises(OptionError, match="make this copy from the file that has them"):
            clf.slim(tmp_path / "smaller.bunrui", min_df=min_df + 1)
        with pytest.raises(OptionError, match="is trained from documents, and"):
            clf.configure(alpha=2.0)
        with pytest.raises(OptionError, match="is trained from documents, and"):
            clf.train()
    assert np.array_equal(scores_of(again), expected)
    change_heading(copy, version="0.0.1")  # it is all there is
    assert np.array_equal(scores_of(copy), expected)


def slim_copy_by_counts(path: Path, tmp_path: Path) -> StoredClassifier:
    """A copy of a head that learns by counts from then on."""
    copy = tmp_path / "slim.bunrui"
    with learned(path, "arow") as clf:
        clf.slim(copy)
    slim = bunrui.open(copy)
    slim.configure(model="multinomial")
    slim.learn(["one more"], ["ham"])
    return slim


def test_a_slim_copy_that_has_learned_by_counts_lost_its_weights(path: Path, tmp_path: Path) -> None:
    needs_documents = pytest.raises(OptionError, match="arow is trained from documents")
    with slim_copy_by_counts(path, tmp_path) as clf, needs_documents:
        clf.configure(model="arow")


def test_an_undo_gives_a_slim_copy_its_weights_back(path: Path, tmp_path: Path) -> None:
    with slim_copy_by_counts(path, tmp_path) as clf:
        clf.undo()
    # Who has undone it still has the ids of its words.
    with bunrui.open(tmp_path / "slim.bunrui") as clf:
        clf.configure(model="arow")
        assert clf.is_trained and clf.check().is_right
    assert np.array_equal(scores_of(tmp_path / "slim.bunrui"), scores_of(path))


@pytest.mark.parametrize("change", ["unlearn", "compact"])
def test_an_undo_gives_no_others_back(path: Path, tmp_path: Path, change: str) -> None:
    """Unlearning takes the weights with it, as it takes what was learned."""
    with slim_copy_by_counts(path, tmp_path) as clf:
        if change == "unlearn":
            clf.unlearn(["one more"], ["ham"])
        else:
            clf.compact()
            clf.learn(["and another"], ["ham"])
        clf.undo()
    needs_documents = pytest.raises(OptionError, match="arow is trained from documents")
    with bunrui.open(tmp_path / "slim.bunrui") as clf, needs_documents:
        clf.configure(model="arow")


@pytest.mark.parametrize("min_df", [1, 3])
@pytest.mark.parametrize("model", KEPT)
def test_weights_outlive_a_set_and_its_undo(path: Path, tmp_path: Path, model: str, min_df: int) -> None:
    copy = tmp_path / "slim.bunrui"
    with learned(path, model) as clf:
        clf.slim(copy, min_df=min_df)
    expected = scores_of(copy)
    for file in (path, copy):
        with bunrui.open(file) as clf:
            before = clf.scores(QUERIES)
            clf.configure(model="multinomial")
            assert clf.undo() == ("set", 0)
            assert clf.is_trained and np.array_equal(clf.scores(QUERIES), before)
            clf.configure(model="multinomial").configure(model="complement").configure(model=model)
            clf.undo()
            assert clf.model == "complement"
            clf.undo_to(1)
            assert clf.is_trained and np.array_equal(clf.scores(QUERIES), before)
            assert clf.check().is_right
    assert np.array_equal(scores_of(copy), expected)


def test_arow_goes_on_after_the_undo_of_a_set(path: Path, tmp_path: Path) -> None:
    with learned(path, "arow") as clf:
        clf.learn(["one more"], ["ham"])
        clf.configure(model="multinomial")
        clf.undo()
        assert clf.info()["trained_documents"] == len(TEXTS) and not clf.is_trained
    assert np.array_equal(scores_of(path), trained_again(path, tmp_path))


def test_no_undo_leaves_a_copy_that_cannot_answer(path: Path, tmp_path: Path) -> None:
    with slim_copy_by_counts(path, tmp_path) as clf:
        clf.unlearn(["one more"], ["ham"])
        with pytest.raises(StoreError, match="undo would bring back arow, whose weights "):
            clf.undo_to(1)
        assert clf.undo() == ("unlearn", 1) and clf.undo() == ("learn", 1)
        with pytest.raises(StoreError, match="undo would bring back arow, whose weights "):
            clf.undo()
        assert clf.model == "multinomial" and len(clf.predict(QUERIES)) == len(QUERIES)


@pytest.mark.parametrize("at_once", [True, False])
def test_an_undo_gives_a_copy_the_model_of_its_weights_back(path: Path, tmp_path: Path, at_once: bool) -> None:
    """Though words of the document that is taken back have ids in memory."""
    with slim_copy_by_counts(path, tmp_path) as clf:
        if at_once:
            clf.undo_to(1)
        else:
            assert clf.undo() == ("learn", 1) and clf.undo() == ("set", 0)
        assert clf.model == "arow" and clf.is_trained and clf.check().is_right
        assert np.array_equal(clf.scores(QUERIES), scores_of(path))


@pytest.mark.parametrize("model", KEPT)
def test_texts_without_a_label_change_no_weights(path: Path, model: str) -> None:
    with learned(path, model) as clf:
        before = clf.scores(QUERIES)
        with clf.learning() as session:
            session.add_unlabelled(["noon, and lunch"])
        assert clf.is_trained and clf.check().is_right and np.array_equal(clf.scores(QUERIES), before)
        clf.undo()
        assert clf.is_trained
        with clf.learning() as session:
            session.add_unlabelled(["noon, and lunch"])
        clf.unlearn_unlabelled()
        assert clf.is_trained
        clf.undo()
        assert clf.is_trained and clf.check().is_right and np.array_equal(clf.scores(QUERIES), before)
    with bunrui.open(path) as clf:
        assert clf.is_trained and clf.info()["trained_documents"] == len(TEXTS)


def test_slim_copies_that_cannot_be(path: Path, tmp_path: Path) -> None:
    from bunrui.store.sessions import slim_bounded

    with learned(path, "arow"), pytest.raises(OptionError, match="out, so that the copy gets weights"):
        slim_bounded(path, tmp_path / "slim.bunrui", "8GB")
    with bunrui.create(tmp_path / "one.bunrui", "nbsvm") as clf:
        clf.learn(["one"], ["ham"])
        with pytest.raises(OptionError, match="nbsvm tells nothing apart yet"):
            clf.slim(tmp_path / "slim.bunrui")
    with bunrui.create(tmp_path / "aode.bunrui", "aode") as clf, pytest.raises(OptionError, match="first choose"):
        clf.learn(TEXTS, LABELS).slim(tmp_path / "slim.bunrui")
    assert not (tmp_path / "slim.bunrui").exists()


# --- damage, and harm


def change_heading(path: Path, **values: Any) -> None:
    heading = json.loads(bytes(Unpacker("", 1 << 30).unpack(rows(path)["heading", 0])))
    for name, value in values.items():
        if isinstance(value, dict):
            heading[name] |= value
        else:
            heading[name] = value
    edit(path, ("UPDATE weights SET content = ? WHERE name = 'heading'", (pack_json(heading),)))


def repack(path: Path, name: str, change: Callable[[np.ndarray], Any]) -> None:
    """Change an array, as whoever means harm would: with its checksum."""
    stored = json.loads(bytes(Unpacker("", 1 << 30).unpack(rows(path)["heading", 0])))["arrays"][name][1]
    array = np.frombuffer(Unpacker("", 1 << 30).unpack(rows(path)[name, 0]), stored).copy()
    changed = change(array)
    edit(
        path,
        (
            "UPDATE weights SET content = ? WHERE name = ?",
            (pack((array if changed is None else changed).tobytes()), name),
        ),
    )


def sections(path: Path) -> list[tuple[str, int]]:
    return list(rows(path))


def flip(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


BLOBS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "flipped": flip,
    "bomb": lambda content: content[:5] + (1 << 50).to_bytes(8, "little") + content[13:],
    "nothing": lambda content: pack(b""),
    "noise": lambda content: pack(b"\xff" * 40),
}


def test_arrays_in_several_parts(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read in their order; one that is missing or in another place is damage."""
    monkeypatch.setattr("bunrui.store.weights._PART_BYTES", 64)
    with learned(path, "arow") as clf:
        expected = clf.scores(QUERIES)
    parts = [part for name, part in rows(path) if name == "weights"]
    assert len(parts) > 2
    whole = Path(shutil.copy(path, tmp_path / "whole.bunrui"))
    without_log(whole)
    assert np.array_equal(scores_of(whole), expected)
    for damage in (
        "DELETE FROM weights WHERE name = 'weights' AND part = 1",
        "UPDATE weights SET part = 99 WHERE name = 'weights' AND part = 1",
    ):
        copy = Path(shutil.copy(path, tmp_path / "damaged.bunrui"))
        edit(copy, damage)
        with bunrui.open(copy) as clf:
            assert np.array_equal(clf.scores(QUERIES), expected)
            assert not clf.check().is_right


@pytest.mark.parametrize("damage", [*BLOBS, "gone"])
@pytest.mark.parametrize("model", quick(1, KEPT))
def test_every_section_damaged(
    path: Path, tmp_path: Path, model: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    slim = tmp_path / "slim.bunrui"
    with learned(path, model) as clf:
        expected = clf.scores(QUERIES)
        clf.slim(slim)
    for good in (path, slim):
        for name, part in sections(good):
            copy = Path(shutil.copy(good, tmp_path / "damaged.bunrui"))
            if damage == "gone":
                edit(copy, ("DELETE FROM weights WHERE name = ?", (name,)))
            else:
                content = BLOBS[damage](rows(good)[name, part])
                edit(copy, ("UPDATE weights SET content = ? WHERE name = ?", (content, name)))
            caplog.clear()
            with caplog.at_level(logging.WARNING, "bunrui"), bunrui.open(copy) as clf:
                if good == path:
                    assert np.array_equal(clf.scores(QUERIES), expected), name
                    clf.to_sklearn()
                    if clf.model != "arow" or name not in (
                        "variance",
                        "totals",
                        "uses",
                        "bias",
                        "bias_variance",
                        "mass",
                    ):
                        # Whoever only asks does not read what learning needs.
                        assert (name, damage) == ("heading", "gone") or "Train its model again with" in caplog.text, (
                            name
                        )
                    clf.train()
                    assert clf.check().is_right
                elif (name, damage) == ("heading", "gone"):
                    with pytest.raises(OptionError, match="is trained from documents, and"):
                        clf.scores(QUERIES)
                else:
                    with pytest.raises(DamagedError, match=r"damaged\.bunrui is damaged: .* Make this copy again"):
                        clf.scores(QUERIES)
                    assert not clf.check().is_right


def put(value: Any) -> Callable[[np.ndarray], None]:
    def change(array: np.ndarray) -> None:
        array[-1] = value

    return change


HARM: list[tuple[str, str, Any]] = [
    ("arow", "place_of", put(100)),
    ("arow", "place_of", put(-2)),
    ("arow", "factor", put(np.nan)),
    ("arow", "factor", put(-1.0)),
    ("arow", "weights", put(np.inf)),
    ("arow", "intercepts", put(-np.inf)),
    ("arow", "weights", lambda array: array[:-2]),
    ("nbsvm", "place_of", put(100)),
    ("nbsvm", "weights", put(np.nan)),
    ("nbsvm", "intercepts", lambda array: np.append(array, 0.0)),
    ("twcnb", "starts", put(100)),
    ("twcnb", "starts", lambda array: array[::-1].copy()),
    ("twcnb", "classes", put(100)),
    ("twcnb", "classes", put(-1)),
    ("twcnb", "classes", lambda array: array[::-1].copy()),
    ("twcnb", "counts", put(-1.0)),
    ("twcnb", "counts", put(np.nan)),
    ("twcnb", "doc_count", put(100)),
    ("arow", "ids", put(-1)),
    ("arow", "ids", put(100)),
    ("nbsvm", "ids", lambda array: array[::-1].copy()),
    ("twcnb", "ids", put(0)),
]


@pytest.mark.parametrize(("model", "name", "harm"), HARM)
def test_numbers_beyond_their_bounds(path: Path, tmp_path: Path, model: str, name: str, harm: Any) -> None:
    slim = tmp_path / "slim.bunrui"
    with learned(path, model, **({"max_features": 7} if name == "ids" else {})) as clf:
        expected = clf.scores(QUERIES)
        clf.slim(slim)
    for file in (path, slim):
        repack(file, name, harm)
    assert np.array_equal(scores_of(path), expected)
    with (
        bunrui.open(slim) as clf,
        pytest.raises(DamagedError, match=r"slim\.bunrui is damaged: (the|its) weights have"),
    ):
        clf.predict(QUERIES)


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("variance", put(-1.0)),
        ("variance", put(np.nan)),
        ("totals", put(np.inf)),
        ("uses", put(100)),
        ("uses", put(-1)),
        ("bias", put(np.nan)),
        ("bias_variance", put(-1.0)),
        ("mass", put(np.nan)),
        ("mass", lambda array: array[:-1]),
        ("place_of", put(0)),
    ],
)
def test_learning_goes_on_from_sound_numbers_alone(path: Path, tmp_path: Path, name: str, harm: Any) -> None:
    with learned(path, "arow") as clf:
        clf.learn(["one more"], ["ham"])
        expected = clf.scores(QUERIES)
    repack(path, name, harm)
    assert np.array_equal(scores_of(path), expected)


HEADINGS: list[dict[str, Any]] = [
    {"arrays": {"weights": ["<f8", "<f8", [1, 2]]}},
    {"arrays": {"weights": ["<f8", "<f8", [-1, 2]]}},
    {"arrays": {"weights": ["<f8", "<f8", [1 << 62, 1 << 62]]}},
    {"arrays": {"weights": ["<f8", "<f8", [84]]}},
    {"arrays": {"weights": ["<f8", "<f8", "x"]}},
    {"arrays": {"weights": ["<f8", "|O", [42, 2]]}},
    {"arrays": {"weights": ["|O8", "<f8", [42, 2]]}},
    {"arrays": {"weights": ["<i8", "<i8", [42, 2]]}},
    {"arrays": {"weights": 3}},
    {"arrays": {"weights": [[], {}, []]}},
    {"arrays": []},
    {"facts": {"classes": ["ham"]}},
    {"facts": {"classes": ["ham", "other"], "labels": ["ham", "other"]}},
    {"facts": {"classes": ["ham", "ham"]}},
    {"facts": {"classes": [1, 2]}},
    {"facts": {"classes": None}},
    {"facts": {"labels": ["ham", "ham"]}},
    {"facts": {"labels": "ham"}},
    {"facts": {"presence": 1}},
    {"facts": {"norm": "l7"}},
    {"facts": 3},
    {"options": []},
    {"n_ids": -1},
    {"n_ids": 1 << 62},
    {"tx": "x"},
    {"generation": 7},
    {"tx": 1 << 62},
    {"vocabulary": "0" * 32},
    {"vocabulary": 3},
    {"unheard": "of"},
]


@pytest.mark.parametrize("values", quick(10, HEADINGS), ids=str)
def test_headings_that_lie(path: Path, tmp_path: Path, values: dict[str, Any]) -> None:
    slim = tmp_path / "slim.bunrui"
    with learned(path, "arow") as clf:
        expected = clf.scores(QUERIES)
        clf.slim(slim)
        clf.learn(["one more"], ["ham"])
        more = clf.scores(QUERIES)
        clf.undo()
        clf.train()
    for file in (path, slim):
        change_heading(file, **values)
    assert np.array_equal(scores_of(path), expected)
    with bunrui.open(slim) as clf, pytest.raises((DamagedError, OptionError), match=r"slim\.bunrui"):
        clf.predict(QUERIES)
    with bunrui.open(path) as clf:
        clf.learn(["one more"], ["ham"])
        np.testing.assert_allclose(clf.scores(QUERIES), more, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "fact", [{"unit": -1.0}, {"unit": "x"}, {"n_docs": float("nan")}, {"n_features": 7}, {"n_docs": None}]
)
def test_facts_that_learning_needs(path: Path, fact: dict[str, Any]) -> None:
    with learned(path, "arow") as clf:
        clf.learn(["one more"], ["ham"])
        expected = clf.scores(QUERIES)
    change_heading(path, facts=fact)
    assert np.array_equal(scores_of(path), expected)


@pytest.mark.parametrize("model", KEPT)
def test_check_finds_weights_that_lie(path: Path, model: str) -> None:
    name = "counts" if model == "twcnb" else "weights"

    def lie(array: np.ndarray) -> None:
        array[0] = np.nextafter(array[0], np.inf)

    with learned(path, model) as clf:
        assert clf.check().is_right
    repack(path, name, lie)
    with bunrui.open(path) as clf:
        assert clf.check().wrong == [
            "the weights, trained again from the texts: the texts give others: train the model again"
        ]
        clf.learn(["one more"], ["ham"])
        clf.unlearn(["one more"], ["ham"])
        clf.train()
        assert clf.check().is_right


def test_a_failed_write_leaves_the_change(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A change is there, whatever becomes of the weights: here they have no room."""
    with bunrui.create(path, "arow") as clf:
        limit = clf._file.store.db
        limit.execute("CREATE TEMP TRIGGER full BEFORE INSERT ON main.weights BEGIN SELECT RAISE(FAIL, 'no room'); END")
        with caplog.at_level(logging.WARNING, "bunrui"):
            clf.learn(TEXTS, LABELS)
        assert "were not kept" in caplog.text
        limit.execute("DROP TRIGGER full")
        expected = clf.scores(QUERIES)
    with bunrui.open(path) as clf:
        assert clf.counts.n_docs == 40 and not clf.is_trained
        assert np.array_equal(clf.scores(QUERIES), expected)


def test_a_lack_of_memory_leaves_the_change(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pack_weights(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(weights, "pack_weights", pack_weights)
    with bunrui.create(path, "arow") as clf, caplog.at_level(logging.WARNING, "bunrui"):
        clf.learn(TEXTS, LABELS)
        assert clf.counts.n_docs == 40 and not clf.is_trained
    assert "were not kept: out of memory" in caplog.text


def test_files_of_older_formats_have_none(tmp_path: Path) -> None:
    path = tmp_path / "old.bunrui"
    shutil.copy(Path(__file__).parent / "formats" / "2.bunrui", path)
    with bunrui.open(path, read_only=True) as clf:
        head = clf.with_model("arow", alpha=None)
        assert not head.is_trained
        expected = head.scores(QUERIES)
    with bunrui.open(path) as clf:
        clf.configure(model="arow", alpha=None)
        assert clf.is_trained
    assert np.array_equal(scores_of(path), expected)


# --- laws


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("learn"), st.lists(st.integers(0, 39), min_size=1, max_size=6)),
        st.tuples(st.sampled_from(["unlearn", "relabel"]), st.integers(0, 39)),
        st.tuples(st.sampled_from(["undo", "compact", "train", "reopen", "ask", "rename", "set"]), st.none()),
    ),
    max_size=12,
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, model=st.sampled_from(KEPT), most=st.sampled_from([2, 500]))
def test_no_history_changes_an_answer(steps: list[tuple[str, Any]], model: str, most: int) -> None:
    """Whatever happens, a file with weights answers as it would without, to the last bit."""
    from bunrui.store import store

    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    before, store._MOST_DELTAS = store._MOST_DELTAS, most
    path = folder / "mail.bunrui"
    try:
        clf = bunrui.create(path, model).learn(TEXTS[:6], LABELS[:6])
        for kind, what in steps:
            known = [document.text for document in clf.documents()]
            if kind == "learn":
                clf.learn([TEXTS[k] for k in what], [clf.classes_[k % 2] for k in what])
            elif kind == "unlearn" and what < len(known) - 2:
                clf.unlearn(digests=[next(d for k, d in enumerate(clf.documents()) if k == what).digest])
            elif kind == "relabel" and what < len(known) - 2:
                clf.relabel(str(clf.classes_[0]), texts=[known[what]])
            elif kind == "undo" and clf.last_standing() and clf.last_standing().number > clf._file.store.snapshot():
                if len(clf.history()) > 1 and clf.last_standing().number > 1:
                    clf.undo()
            elif kind == "compact":
                clf.compact()
            elif kind == "train":
                clf.train()
            elif kind == "rename":
                clf.rename_label(str(clf.classes_[0]), f"l{len(clf.history())}")
            elif kind == "set":
                clf.configure(min_df=3 - clf.min_df)
            elif kind == "ask":
                clf.predict(QUERIES)
            elif kind == "reopen":
                clf.close()
                clf = bunrui.open(path)
            if len(clf.classes_) < 2:
                break
        clf.close()
        answered = scores_of(path)
        assert np.array_equal(answered, trained_again(path, folder))
        with bunrui.open(path) as clf:
            assert clf.check().is_right
            clf.train()
            trained = clf.is_trained
        # Whoever opens the file now can use the weights: features have the ids that they had for the writer.
        with bunrui.open(path, read_only=True) as clf:
            assert clf.is_trained == trained == (len(clf.classes_) > 1 and clf.counts.n_features > 0)
            assert np.array_equal(clf.scores(QUERIES), answered)
    finally:
        store._MOST_DELTAS = before
        shutil.rmtree(folder)
