"""Metrics and evaluations in the terminal: the text word for word, whatever the labels are, at any width."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment

from bunrui.evaluation import Evaluation, Metrics, measure
from bunrui.views.evaluation import evaluation_tables, metrics_tables

SMALL = measure(
    ["ham"] * 12 + ["spam"] * 4 + ["[red]ニュース"] * 4,
    ["ham"] * 11 + ["spam"] + ["spam"] * 3 + ["ham"] + ["[red]ニュース"] * 2 + ["ham"] * 2,
    labels=["unused"],
)


def shown(result: Metrics | Evaluation, width: int = 80) -> str:
    file = io.StringIO()
    tables = metrics_tables(result) if isinstance(result, Metrics) else evaluation_tables(result)
    Console(width=width, file=file, color_system=None).print(tables)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def segments(metrics: Metrics, width: int = 80) -> list[Segment]:
    console = Console(width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    return list(console.render(metrics_tables(metrics)))


def many(n_classes: int, n_docs: int, wrong: int) -> Metrics:
    """Classes of as many documents each, of which some are taken for the next class."""
    names = [f"{chr(0x4E00 + k)}{k}" for k in range(n_classes)]
    true = [name for name in names for _ in range(n_docs)]
    taken = [name for k in range(n_classes) for name in [names[k]] * (n_docs - wrong) + [names[k - 1]] * wrong]
    return measure(true, taken)


# --- word for word


def test_small() -> None:
    assert shown(SMALL) == SMALL_AT_80


SMALL_AT_80 = """\
accuracy 0.800 of 20 documents
micro F1 0.800 · macro F1 0.754
labels one against the rest: mean accuracy 0.867

label          precision  recall     F1            accuracy  support
────────────────────────────────────────────────────────────────────
[red]ニュース      1.000   0.500  0.667  █████▎       0.900        4
ham                0.786   0.917  0.846  ██████▊      0.800       12
spam               0.750   0.750  0.750  ██████       0.900        4
unused             0.000   0.000  0.000               1.000        0
────────────────────────────────────────────────────────────────────
micro              0.800   0.800  0.800  ██████▍                  20
macro              0.845   0.722  0.754  ██████       0.867       20
F of means                        0.779  ██████▏

confusion matrix · documents · rows true, columns predicted
                1  2 3 4
1 [red]ニュース 2  2 · ·
2 ham           · 11 1 ·
3 spam          ·  1 3 ·
4 unused        ·  · · ·"""


def test_small_at_40() -> None:
    assert shown(SMALL, 40) == SMALL_AT_40


SMALL_AT_40 = """\
accuracy 0.800 of 20 documents
micro F1 0.800 · macro F1 0.754
labels one against the rest: mean
accuracy 0.867

label         prec.  rec.    F1  acc.  n
────────────────────────────────────────
[red]ニュース 1.000 0.500 0.667 0.900  4
ham           0.786 0.917 0.846 0.800 12
spam          0.750 0.750 0.750 0.900  4
unused        0.000 0.000 0.000 1.000  0
────────────────────────────────────────
micro         0.800 0.800 0.800       20
macro         0.845 0.722 0.754 0.867 20
F of means                0.779

confusion matrix · documents · rows
true, columns predicted
                1  2 3 4
1 [red]ニュース 2  2 · ·
2 ham           · 11 1 ·
3 spam          ·  1 3 ·
4 unused        ·  · · ·"""


def test_one_document() -> None:
    assert shown(measure(["a"], ["a"])).splitlines()[0] == "accuracy 1.000 of 1 document"


# --- evaluations

SPAM: dict[str, Any] = {
    "true": ["ham"] * 12 + ["spam"] * 8,
    "predictions": ["ham"] * 11 + ["spam"] * 9,
    "probabilities": [[0.9, 0.1]] * 11 + [[0.2, 0.8]] * 9,
    "classes": ["ham", "spam"],
}


def test_evaluation() -> None:
    assert shown(Evaluation(**SPAM, positive="spam")) == EVALUATION_AT_80
    lines = shown(Evaluation(**SPAM)).splitlines()
    assert lines[:4] == EVALUATION_AT_80.splitlines()[:4]
    assert lines[4:6] == ["ROC AUC 0.958 · average precision 0.928", ""]


EVALUATION_AT_80 = """\
accuracy 0.950 (95 % interval 0.850–1.000) of 20 documents
micro F1 0.950 · macro F1 0.949
labels one against the rest: mean accuracy 0.950
log loss 0.228 · Brier score 0.107 · calibration error 0.095
ROC AUC 0.958 · average precision 0.889
spam: 1 − ROCA 4.1667 % · recall 0.000 at 0.1 % false positives · recall 0.000
at 1 % false positives

label       precision  recall     F1            accuracy  support
─────────────────────────────────────────────────────────────────
ham             1.000   0.917  0.957  ███████▋     0.950       12
spam            0.889   1.000  0.941  ███████▌     0.950        8
─────────────────────────────────────────────────────────────────
micro           0.950   0.950  0.950  ███████▌                 20
macro           0.944   0.958  0.949  ███████▌     0.950       20
F of means                     0.951  ███████▌

confusion matrix · documents · rows true, columns predicted
        1 2
1 ham  11 1
2 spam  · 8"""


def test_evaluation_of_one_label() -> None:
    """There is nothing to rank it against."""
    found = Evaluation(true=["a"], predictions=["a"], probabilities=[[1.0]], classes=["a"], positive="a")
    assert shown(found).splitlines()[:5] == [
        "accuracy 1.000 (95 % interval 0.207–1.000) of 1 document",
        "micro F1 1.000 · macro F1 1.000",
        "labels one against the rest: mean accuracy 1.000",
        "log loss 0.000 · Brier score 0.000 · calibration error 0.000",
        "average precision 1.000",
    ]


def test_a_hostile_positive_label() -> None:
    label = "[red]\x1b[2J\n" + "x" * 100
    names = {"ham": "ham", "spam": label}
    options = {
        name: [names.get(one, one) if isinstance(one, str) else one for one in values] for name, values in SPAM.items()
    }
    found = Evaluation(**options, positive=label)
    for width in (40, 80):
        text = shown(found, width)
        assert "\x1b" not in text
        assert "[red]␛[2J␊xx…" in text
        assert max(map(cell_len, text.split("\n"))) <= width


# --- what is taken for what


def matrix(text: str) -> list[str]:
    lines = text.splitlines()
    return lines[next(k for k, line in enumerate(lines) if line.startswith("confusion matrix")) :]


def test_a_wide_matrix_has_shares() -> None:
    """Twenty columns of three digits do not fit."""
    lines = matrix(shown(many(20, 1000, 4)))
    assert lines[0] == "confusion matrix · % of the row · rows true, columns predicted"
    assert len(lines) == 22
    assert lines[2].split() == ["1", "一0", "99", *["·"] * 18, "<1"]
    assert lines[3].split() == ["2", "丁1", "<1", "99", *["·"] * 18]
    lines = matrix(shown(measure_rows({"a": [10_000, 0, 0], "b": [10_000, 20_000, 0]}), 17))
    assert [line.split() for line in lines[-2:]] == [["1", "a", "100", "·"], ["2", "b", "33", "67"]]
    lines = matrix(shown(many(20, 1000, 4), 120))
    assert lines[0] == "confusion matrix · documents · rows true, columns predicted"
    assert lines[2].split() == ["1", "一0", "996", *["·"] * 18, "4"]


def test_many_classes_have_a_list() -> None:
    names = [f"{k:02d}" for k in range(30)]
    true, taken = names * 50, names * 50
    for k in range(12):
        true += [names[k]] * (20 - k)
        taken += [names[k + 1]] * (20 - k)
    lines = shown(measure(true, taken)).splitlines()
    start = lines.index("most frequent confusions")
    assert "confusion matrix" not in "".join(lines)
    assert lines[start + 1].split() == ["true", "predicted", "n", "of", "true"]
    assert [line.split() for line in lines[start + 3 :]] == [
        *([f"{k:02d}", f"{k + 1:02d}", f"{20 - k}", f"{(20 - k) / (70 - k):.1%}"] for k in range(10)),
        ["and", "2", "more"],
    ]


def test_many_classes_without_confusions() -> None:
    assert shown(many(21, 2, 0)).splitlines()[-1] == "no confusions: every document has its label"


def test_equal_confusions_are_sorted() -> None:
    names = [f"{k:02d}" for k in range(21)]
    lines = shown(measure([*names, "05", "05", "03"], [*names, "09", "07", "10"])).splitlines()
    assert [line.split()[:2] for line in lines[-3:]] == [["03", "10"], ["05", "07"], ["05", "09"]]


def test_colours() -> None:
    """Right is green; the larger the share of the row, the redder."""
    styles: dict[str, Any] = {
        segment.text.strip(): segment.style for segment in segments(measure_rows({"a": [60, 35, 5], "b": [0, 9, 0]}))
    }
    assert styles["60"].color.name == styles["9"].color.name == "green"
    assert styles["·"].dim and styles["·"].bgcolor is None
    few, most = (styles[cell].bgcolor.triplet for cell in ("5", "35"))
    assert few.red - few.green < most.red - most.green
    assert styles["60"].bgcolor is None


def test_labels_that_never_occur_are_dim() -> None:
    rows = [segment for segment in segments(SMALL) if segment.text.strip() in ("ham", "unused")]
    assert [(segment.text.strip(), bool(segment.style and segment.style.dim)) for segment in rows[:2]] == [
        ("ham", False),
        ("unused", True),
    ]


def measure_rows(rows: dict[str, list[int]]) -> Metrics:
    true = [label for label, row in rows.items() for count in row for _ in range(count)]
    taken = [label for row in rows.values() for label, count in zip("abc", row, strict=True) for _ in range(count)]
    return measure(true, taken)


# --- whatever the labels are


def test_markup_is_text() -> None:
    labels = ["[red]x[/red]", "[/]", "[link=http://x.test]y", ":smile:", "\\[b]"]
    text = shown(measure(labels, labels))
    for label in labels:
        assert text.count(label) == 2
    styles = [segment.style for segment in segments(measure(labels, labels)) if "x" in segment.text and segment.style]
    assert all(style.color is None and style.link is None for style in styles)


def test_controls_are_pictures() -> None:
    text = shown(measure(["a\x1b[2J\nb\tc\u2028"], ["a\x1b[2J\nb\tc\u2028"]))
    assert text.count("a␛[2J␊b␉c‹U+2028›") == 2
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("label", "line"),
    [
        ("comp.sys.ibm.pc.hardware", "comp.sys.ibm.pc.hardware"),
        ("comp.sys.ibm.pc.hardware.2", "comp.sys.ibm….hardware.2"),
        ("日本語のとても長い分類の名前", "日本語のとて…分類の名前"),
        ("x" * 100_000 + "end", "x" * 12 + "…" + "x" * 8 + "end"),
    ],
)
def test_long_labels_are_cut_in_the_middle(label: str, line: str) -> None:
    rows = [row for row in shown(measure([label], [label])).splitlines() if "1.000   1.000" in row]
    assert rows[0].startswith(f"{line}  ")


labels = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)
drawn = st.lists(labels, min_size=1, max_size=25).flatmap(
    lambda few: st.lists(st.tuples(st.sampled_from(few), st.sampled_from(few)), min_size=1, max_size=60)
)


@given(drawn, st.sampled_from([40, 41, 60, 71, 72, 80, 200]))
def test_fits_the_width(pairs: list[tuple[str, str]], width: int) -> None:
    metrics = measure([true for true, _ in pairs], [predicted for _, predicted in pairs])
    lines = shown(metrics, width).split("\n")
    assert max(map(cell_len, lines)) <= width
    start = next(k for k, line in enumerate(lines) if line.startswith("label "))
    rows = lines[start + 2 : start + 2 + len(metrics.labels)]
    expected: list[Any] = [[f"{c.precision:.3f}", f"{c.accuracy:.3f}", str(c.support)] for c in metrics.per_class]
    numbers = [[part for part in row.split() if part.strip("▏▎▍▌▋▊▉█")] for row in rows]
    assert [[row[-5], row[-2], row[-1]] for row in numbers] == expected
    assert lines[start + 2 + len(rows) + 1].startswith("micro ")


@pytest.mark.parametrize("width", [1, 8, 20, 30])
@pytest.mark.parametrize("metrics", [SMALL, many(20, 100, 10), many(40, 100, 10)])
def test_widths_that_are_too_small(metrics: Metrics, width: int) -> None:
    assert shown(metrics, width).replace("\n", "").startswith("accuracy"[:width])
