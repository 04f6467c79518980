"""`bunrui.fasttext`: fastText's names and shapes, on bunrui's models."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bunrui
import bunrui.fasttext as fasttext
from bunrui import TextClassifier
from tests.support.real_fasttext import train_real
from tests.support.waiting import PATIENCE

LINES = [
    *(f"__label__spam cheap pills now {k}" for k in range(6)),
    *(f"__label__ham lunch at noon {k}" for k in range(4)),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "train.txt", LINES)


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def model(file: Path) -> fasttext.FastText:
    return fasttext.train_supervised(str(file))


def test_predict_has_the_shapes_of_fasttext(model: fasttext.FastText) -> None:
    labels, shares = model.predict("cheap lunch pills", k=2)
    assert labels == ("__label__spam", "__label__ham")
    assert isinstance(shares, np.ndarray) and shares.shape == (2,) and math.isclose(shares.sum(), 1)
    all_labels, all_shares = model.predict(["cheap pills", "at noon"])
    assert all_labels == [["__label__spam"], ["__label__ham"]] and [each.shape for each in all_shares] == [(1,), (1,)]
    assert model.predict(["cheap pills"], k=-1)[0] == [["__label__spam", "__label__ham"]]
    assert model.predict([]) == ([], [])
    labels, shares = model.predict("cheap pills", threshold=1.1)
    assert labels == () and shares.shape == (0,)


def test_it_answers_as_the_classifier_does(model: fasttext.FastText, file: Path) -> None:
    texts = [line.partition(" ")[2] for line in LINES]
    own = TextClassifier().learn(texts, [line.partition(" ")[0].removeprefix("__label__") for line in LINES])
    assert model.classifier.counts == own.counts
    _, shares = model.predict(texts, k=2)
    assert np.array_equal(np.array(shares), -np.sort(-own.predict_proba(texts), axis=1))


@pytest.mark.parametrize("ask", ["predict", "get_line"])
def test_one_line_at_a_time(model: fasttext.FastText, ask: str) -> None:
    with pytest.raises(ValueError, match="one line at a time"):
        getattr(model, ask)("cheap\npills")


def test_test_counts_documents_with_known_labels(model: fasttext.FastText, tmp_path: Path) -> None:
    path = write(
        tmp_path / "test.txt",
        [
            "__label__spam pills",
            "__label__ham __label__new noon",
            "__label__new lunch",
            "no label",
            "",
            "__label__ham pills",
        ],
    )
    n_docs, precision, recall = model.test(str(path))
    assert (n_docs, precision, recall) == (3, 2 / 3, 2 / 3)
    assert model.test(str(path), k=2) == (3, 3 / 6, 3 / 3)
    each = model.test_label(str(path))
    assert each["__label__spam"] == {"precision": 0.5, "recall": 1.0, "f1score": 2 / 3}
    assert each["__label__ham"] == {"precision": 1.0, "recall": 0.5, "f1score": 2 / 3}


def test_labels_words_and_lines(model: fasttext.FastText) -> None:
    assert model.labels == ["__label__spam", "__label__ham"] and model.words[:3] == ["cheap", "now", "pills"]
    names, counts = model.get_labels(include_freq=True)
    assert names == model.labels and counts.tolist() == [6, 4]
    words, counts = model.get_words(include_freq=True)
    assert words == model.words and counts[0] == 6 and "pills" in model and "cheap pills" not in model
    assert model.get_line("__label__ham __label__new at noon") == (["at", "noon", "</s>"], ["__label__ham"])
    assert model.get_line(["at noon"]) == ([["at", "noon", "</s>"]], [[]])
    assert (model.get_label_id("__label__ham"), model.get_label_id("ham"), model.get_word_id("zebra")) == (1, -1, -1)


def test_several_labels_have_probabilities_of_their_own(tmp_path: Path) -> None:
    lines = ["__label__drink __label__hot tea", "__label__drink juice", "__label__hot soup", "__label__cold ice"] * 3
    model = fasttext.train_supervised(input=str(write(tmp_path / "sets.txt", lines)), loss="softmax")
    labels, shares = model.predict("tea", k=-1, threshold=0.5)
    assert set(labels) == {"__label__drink", "__label__hot"} and shares.min() > 0.5 and shares.sum() > 1
    model.save_model(tmp_path / "sets.bin")
    assert fasttext.load_model(tmp_path / "sets.bin").predict("tea", k=-1, threshold=0.5)[0] == labels


@pytest.mark.parametrize("prefix", ["__label__", "#", "__class:"])
def test_saved_and_loaded(tmp_path: Path, prefix: str) -> None:
    lines = [line.replace("__label__", prefix) for line in LINES] * 6  # enough for a choice, and a calibration
    file = write(tmp_path / "train.txt", lines)
    model = fasttext.train_supervised(str(file), label=prefix)
    path = tmp_path / "model.bin"
    path.write_bytes(b"older")
    model.save_model(str(path))
    again = fasttext.load_model(str(path))
    assert again.labels == model.labels == [f"{prefix}spam", f"{prefix}ham"]
    for k, text in [(1, "cheap pills"), (2, "noon"), (2, "")]:
        (labels, shares), (labels_before, before) = again.predict(text, k), model.predict(text, k)
        assert labels == labels_before and np.array_equal(shares, before)
    assert again.test(str(file)) == model.test(str(file)) == (60, 1.0, 1.0)
    with bunrui.open(path, read_only=True) as clf:
        assert clf.predict(["pills"]) == ["spam"] and clf.keep == "nothing"


def test_quantized_models_lack_the_words_of_one_document(model: fasttext.FastText, tmp_path: Path) -> None:
    model.save_model(tmp_path / "model.bin")
    assert not model.is_quantized()
    model.quantize(input="train.txt", retrain=True, qnorm=True)
    assert model.is_quantized()
    model.save_model(tmp_path / "model.ftz")
    small = fasttext.load_model(tmp_path / "model.ftz")
    assert small.is_quantized() and "5" not in small and "5" in fasttext.load_model(tmp_path / "model.bin")
    (labels, shares), (labels_before, before) = small.predict("pills 5", 2), model.predict("pills 5", 2)
    assert labels == labels_before and np.array_equal(shares, before)


def test_parameters_without_a_meaning_are_named_once(file: Path) -> None:
    with pytest.warns(UserWarning) as caught:
        model = fasttext.train_supervised(str(file), 0.5, epoch=25, min_count=1, word_ngrams=3, loss="hs", verbose=0)
    assert [str(each.message) for each in caught] == ["these parameters mean nothing to bunrui: lr, epoch, loss"]
    assert (model.lr, model.epoch, model.wordNgrams) == (0.5, 25, 3)
    assert "cheap pills now" in model.classifier.counts.features()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fasttext.train_supervised(input=str(file), thread=4, seed=1, epoch=5)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"inputs": "x"}, TypeError, "unexpected keyword argument 'inputs'"),
        ({"input": "x", "loss": "hinge"}, ValueError, "loss is one of ns, hs, softmax, ova, not 'hinge'"),
        ({}, ValueError, "give the file with the documents as `input`"),
        ({"input": "missing.txt"}, ValueError, "missing.txt"),
        ({"input": "empty.txt"}, ValueError, "has no line with a label"),
        ({"input": "usual.txt", "label": "__foo__"}, ValueError, "has no line with a label: begin lines with __foo__"),
    ],
)
def test_wrong_use(
    given: dict[str, Any], error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "empty.txt", ["no label"])
    write(tmp_path / "usual.txt", LINES)
    with pytest.raises(error, match=message):
        fasttext.train_supervised(**given)


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes((793712314).to_bytes(4, "little") + b"\x0c\0\0\0" + bytes(200))
    with pytest.raises(ValueError, match="train it again"):
        fasttext.load_model(path)
    with pytest.raises(ValueError, match=r"nowhere\.bin"):
        fasttext.load_model(tmp_path / "nowhere.bin")


def test_there_are_no_vectors(model: fasttext.FastText, file: Path) -> None:
    for name in ("get_word_vector", "get_sentence_vector", "get_input_matrix", "get_subwords", "get_nearest_neighbors"):
        with pytest.raises(AttributeError, match="no vectors of words"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = model.nothing
    with pytest.raises(NotImplementedError, match="no vectors of words"):
        fasttext.train_unsupervised(str(file))


def test_tokens() -> None:
    assert fasttext.tokenize("asdf asdb") == ["asdf", "asdb"]
    assert fasttext.tokenize("asdf\n") == ["asdf", fasttext.EOS] and fasttext.tokenize("\n") == [fasttext.EOS]
    assert fasttext.tokenize("") == fasttext.tokenize(" ") == []


def test_a_script_runs_with_one_changed_import(file: Path, tmp_path: Path) -> None:
    script = (
        "import bunrui.fasttext as fasttext\n"
        "model = fasttext.train_supervised(input='train.txt', epoch=25, lr=1.0, wordNgrams=2, verbose=2, minCount=1)\n"
        "n, p, r = model.test('train.txt')\n"
        "print(f'N\\t{n}\\nP@1\\t{p:.3f}\\nR@1\\t{r:.3f}')\n"
        "model.save_model('mail.bin')\n"
        "print(fasttext.load_model('mail.bin').predict('free pills'))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stderr == "" and done.stdout.splitlines()[:3] == ["N\t10", "P@1\t1.000", "R@1\t1.000"]
    assert done.stdout.splitlines()[3].startswith("(('__label__spam',), array([0.")


def test_the_same_calls_as_fasttext(file: Path) -> None:
    """Beside the real package, where it is installed: the same labels, and values of the same kinds and shapes."""
    write(file, LINES * 100)
    theirs = train_real(file, file.with_suffix(".bin"), epoch=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = fasttext.train_supervised(str(file), epoch=20, wordNgrams=2)

    def kinds(found: Any) -> Any:
        if isinstance(found, (tuple, list)):
            return type(found), [kinds(each) for each in found]
        return (type(found), found.shape) if isinstance(found, np.ndarray) else type(found)

    for text, k in [(["cheap pills", "noon"], 1), (["cheap pills", "noon"], 2), (["noon"], -1)]:
        assert ours.predict(text, k)[0] == theirs.predict(text, k)[0]
        assert kinds(ours.predict(text, k)) == kinds(theirs.predict(text, k))
    assert kinds(ours.test(str(file))) == kinds(theirs.test(str(file)))
    assert ours.test_label(str(file)) == theirs.test_label(str(file))
    assert (ours.labels, ours.get_labels(include_freq=True)[1].tolist()) == (
        theirs.labels,
        theirs.get_labels(include_freq=True)[1].tolist(),
    )
    line = "__label__ham __label__new at noon"
    assert ours.get_line(line) == theirs.get_line(line)


def test_labels_that_are_no_strings_get_the_prefix(tmp_path: Path) -> None:
    path, lines = tmp_path / "a.bunrui", write(tmp_path / "test.txt", ["__label__10 pills", "__label__-1 noon"])
    with bunrui.create(path) as clf:
        clf.learn(["cheap pills", "lunch at noon", "noon"], [10, -1, -1])
    model = fasttext.load_model(str(path))
    assert model.labels == ["__label__-1", "__label__10"] and model.predict("pills")[0] == ("__label__10",)
    assert model.test(str(lines)) == (2, 1.0, 1.0)
