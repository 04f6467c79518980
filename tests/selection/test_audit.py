"""Labels that were changed on purpose are found again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.errors import DataError, OptionError
from bunrui.evaluation.crossvalidation import score_left_out
from bunrui.selection import Audit, Conflict, audit

SPAM = ["cheap pills now", "pills for you", "cheap money now", "win money", "win pills"]
HAM = ["meeting at noon", "see you at noon", "lunch at noon", "the meeting is late", "lunch with you"]
TEXTS = [*SPAM, *HAM]
LABELS = ["spam"] * 5 + ["ham"] * 5


def flipped(*rows: int) -> list[str]:
    return [{"spam": "ham", "ham": "spam"}[label] if row in rows else label for row, label in enumerate(LABELS)]


def test_a_wrong_label_comes_first() -> None:
    found = audit(TextClassifier(analyzer="words"), TEXTS, flipped(2))
    first = found.suspects[0]
    assert (first.row, first.given, first.suggested) == (2, ("ham",), "spam")
    assert first.probability < 0.5 < first.suggested_probability
    assert first.probability + first.suggested_probability == pytest.approx(1)
    assert found.order[0] == 2 and sorted(found.order.tolist()) == list(range(10))


def test_suspects_are_those_that_leave_one_out_gets_wrong_and_ordered() -> None:
    labels = flipped(1, 7)
    clf = TextClassifier()
    (documents, scores), found = score_left_out(clf, TEXTS, labels), audit(clf, TEXTS, labels)
    wrong = [row for row in range(10) if documents.classes[scores[row].argmax()] != labels[row]]
    assert sorted(suspect.row for suspect in found.suspects) == wrong
    shares = [suspect.probability for suspect in found.suspects]  # of two labels, the one says it all
    assert shares == sorted(shares)


def test_the_classifier_stays_as_it_was() -> None:
    clf = TextClassifier().learn(["a"], ["x"])
    before = clf.counts.copy()
    found = audit(clf, TEXTS, LABELS)
    for suspect in found.suspects:
        found.words(suspect)
    assert clf.counts == before and clf.calibration is None


def test_words_are_those_of_the_model_without_the_document() -> None:
    labels = flipped(2)
    found = audit(TextClassifier("multinomial", analyzer="words"), TEXTS, labels)
    rest = TextClassifier("multinomial", analyzer="words")
    rest.learn([*TEXTS[:2], *TEXTS[3:]], [*labels[:2], *labels[3:]])
    explanation = found.explain(found.suspects[0])
    assert explanation == rest.explain(TEXTS[2], label="spam", against="ham")
    assert found.explain(found.suspects[0]) == explanation  # it was learned again
    words = found.words(found.suspects[0], top=2)
    assert len(words) == 2 and all(word.value > 0 for word in words)
    assert {word.feature for word in words} <= {"cheap", "money", "now"}


def test_copies_with_different_labels() -> None:
    long = "The quick brown fox jumps over the lazy dog, and nobody knows why it does so every single day."
    texts = [*TEXTS, TEXTS[0], long, long + " Really!", TEXTS[6]]
    labels = [*LABELS, "ham", "spam", "ham", "ham"]
    found = audit(TextClassifier(), texts, labels)
    assert found.conflicts == (
        Conflict("exact", (0, 10), (("spam",), ("ham",))),
        Conflict("near", (11, 12), (("spam",), ("ham",))),
    )


def test_the_only_document_of_a_label_is_no_suspect() -> None:
    found = audit(TextClassifier(), [*TEXTS, "a new star"], [*LABELS, "news"])
    assert found.alone == (10,) and 10 not in {suspect.row for suspect in found.suspects}
    assert found.order[-1] == 10


def test_several_labels() -> None:
    labels = [["spam", "ad"] if label == "spam" else ["ham"] for label in LABELS]
    labels[3] = ["ham", "work"]
    labels[8] = ["ham", "work"]
    found = audit(TextClassifier(), TEXTS, labels)
    (suspect,) = (suspect for suspect in found.suspects if suspect.row == 3)
    assert suspect.given == ("ham", "work") and suspect.suggested in ("spam", "ad")
    assert found.words(suspect)


def test_single_labels_of_sets() -> None:
    """A label too many and a label too few are found, and the rest of the set stays."""
    topics, draw = ("grain", "oil", "gold", "ships"), random.Random(0)
    sets = [draw.sample(topics, 2) for _ in range(200)]
    texts = [" ".join(f"{name}{draw.randrange(8)}" for name in names for _ in range(6)) for names in sets]
    right = [sorted(names) for names in sets]
    wrong = [list(names) for names in right]
    wrong[7] = sorted([*right[7], next(name for name in topics if name not in right[7])])
    wrong[11] = right[11][:1]
    found = audit(TextClassifier(analyzer="words"), texts, wrong)
    surplus, lacking = (next(one for one in found.suspects if one.row == row) for row in (7, 11))
    assert {one.row for one in found.suspects[:2]} == {7, 11} == set(found.order[:2].tolist())
    assert list(surplus.better) == right[7] and sorted(lacking.better) == right[11]
    assert [(one.label, one.is_given) for one in lacking.doubts] == [(right[11][1], False)]
    assert all(one.is_given and one.probability < 0.05 for one in surplus.doubts)
    assert found.words(surplus) and found.explain(surplus).against == surplus.doubts[0].label
    trained = audit(TextClassifier("nbsvm"), texts, wrong)
    assert not any(one.doubts for one in trained.suspects)


@pytest.mark.parametrize("model", ["nbsvm", "twcnb"])
def test_models_that_are_trained(model: str) -> None:
    found = audit(TextClassifier(model), TEXTS * 3, flipped(2) + LABELS * 2)
    assert 2 in {suspect.row for suspect in found.suspects}
    (suspect,) = (suspect for suspect in found.suspects if suspect.row == 2)
    assert found.words(suspect)


def test_tokens_and_counts() -> None:
    tokens = [text.split() for text in TEXTS]
    found = audit(TextClassifier(), tokens, flipped(2))
    assert found.suspects[0].row == 2 and found.conflicts == () and found.text(2) == ["cheap", "money", "now"]
    assert found.words(found.suspects[0])


def test_empty_documents() -> None:
    found = audit(TextClassifier(), ["", "", "", "a"], ["x", "y", "x", "y"])
    assert found.n_docs == 4 and len(found.conflicts) == 1


def test_one_label_has_no_suspects() -> None:
    found = audit(TextClassifier(), ["a", "b", "c"], ["x"] * 3)
    assert (found.suspects, found.conflicts, found.alone) == ((), (), ())
    assert repr(found) == "<Audit: 3 documents, 0 suspects, 0 conflicts>"


def test_all_labels_alone() -> None:
    found = audit(TextClassifier(), ["a", "b", "c"], ["x", "y", "z"])
    assert found.suspects == () and found.alone == (0, 1, 2)


def test_documents_of_a_file(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "mail.bunrui") as clf:
        clf.learn(TEXTS, flipped(2))
        found = audit(clf)
        assert found.suspects[0].row == 2 and found.words(found.suspects[0])
        assert clf.counts.n_docs == 10 and len(clf.history()) == 1


@pytest.mark.parametrize(
    ("texts", "labels", "kind"), [(["a"], ["x"], DataError), (["a", "b"], None, OptionError), (None, None, OptionError)]
)
def test_what_cannot_be_audited(texts: object, labels: object, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        audit(TextClassifier(), texts, labels)


@pytest.mark.parametrize("wrong", [["a", "b"], "mail.bunrui"])
def test_what_is_no_classifier(wrong: Any) -> None:
    with pytest.raises(OptionError, match=r" is no classifier: give one, such as TextClassifier\(\) or bunrui.open"):
        audit(wrong, ["a", "b"], ["x", "y"])


def recall(found: Audit, changed: np.ndarray, share: float) -> float:
    """The share of changed labels among the first of the list."""
    first = found.order[: int(found.n_docs * share)]
    return float(np.isin(changed, first).mean())


@pytest.mark.data
def test_changed_labels_of_sms_spam(data_folder: Path) -> None:
    table = pq.read_table(data_folder / "sms_spam" / "all.parquet", columns=["label", "text"])
    labels = np.array(table["label"].to_pylist())
    changed = np.random.default_rng(0).choice(len(labels), len(labels) * 3 // 100, replace=False)
    labels[changed] = np.where(labels[changed] == "spam", "ham", "spam")
    found = audit(TextClassifier(), table["text"], labels.tolist())
    assert recall(found, changed, 0.03) > 0.85 and recall(found, changed, 0.05) > 0.95
