"""The confusion matrix: the same counts in every look, and as much of it as can be read."""

from __future__ import annotations

import io
import json
import re

import pytest
from rich.console import Console

from bunrui.evaluation import Metrics, measure
from bunrui.phrases import visible
from bunrui.views.confusion import Confusion
from bunrui.views.evaluation import page_parts
from tests.support.pages import Parsed, evaluated

HARM = "<script>alert(1)</script>'\"&\u202e"


def some_metrics() -> Metrics:
    return measure(["ham"] * 5 + ["spam"] * 3 + [HARM] * 2, ["ham"] * 4 + ["spam"] * 3 + ["ham", HARM, "ham"])


def test_all_looks_have_the_same_counts() -> None:
    metrics = some_metrics()
    found = Confusion(metrics)
    drawn = [int(text) for text in Parsed(found.to_svg()).all("text") if text.isdigit()]
    out = io.StringIO()
    Console(width=120, file=out, color_system=None).print(found)
    rows = [re.findall(r"(?<= )(?:\d+|·)(?= |$)", line)[-3:] for line in out.getvalue().splitlines()[2:]]
    printed = [int(cell) for row in rows for cell in row if cell != "·"]
    assert drawn == printed == [count for count in metrics.confusion.ravel().tolist() if count]
    listed = Parsed(found.to_table(10).to_html()).all("tr")[1:]
    assert listed == [f"{visible(HARM)}ham150.0 %", "hamspam120.0 %", "spamham133.3 %"]


def test_every_cell_of_the_page_can_be_pressed_and_translated() -> None:
    evaluation = evaluated(["ham", "ham", HARM], ["ham", HARM, HARM])
    parts = page_parts(evaluation)
    assert parts["labels"] == [HARM, "ham"]
    cells = [attributes for tag, attributes, _ in Parsed(parts["confusion"]).found if tag == "a"]
    assert [cell["data-t-label"] for cell in cells] == ["evaluate.cell"] * 4
    assert [json.loads(cell["data-words"] or "") for cell in cells] == [
        {"row": row, "column": column, "n": n}
        for row, column, n in (
            (visible(HARM), visible(HARM), 1),
            (visible(HARM), "ham", 0),
            ("ham", visible(HARM), 1),
            ("ham", "ham", 1),
        )
    ]
    assert ["none" in (cell["class"] or "") for cell in cells] == [False, True, False, False]
    assert [cell["href"] for cell in cells] == ["#0-0", "#0-1", "#1-0", "#1-1"]  # places in `labels`


@pytest.mark.parametrize(("n_labels", "n_drawn"), [(25, 25), (26, 25), (60, 25)])
def test_many_labels(n_labels: int, n_drawn: int) -> None:
    names = [f"{k:03d}" for k in range(n_labels)]
    evaluation = evaluated([*names, "007", "009"], [*names, "009", "007"])
    parts = page_parts(evaluation)
    parsed = Parsed(parts["confusion"])
    assert len(parsed.all("a", class_="cell")) == n_drawn**2 and {"007", "009"} <= set(parts["labels"])
    note = f"Shown are the 25 of {n_labels} labels with the most mistakes."
    assert parsed.all("p") == ([note] if n_drawn < n_labels else [])


def test_the_colour_of_a_cell_is_its_share_of_the_whole_row() -> None:
    drawn, others = [f"{k:03d}" for k in range(25)], [f"{k:03d}" for k in range(25, 50)]
    true = [*drawn, *drawn, *["000"] * 25]  # 25 of the 27 documents of 000 are predicted as labels that are left out
    found = Confusion(measure(true, [*drawn, *drawn[1:], "000", *others]))
    assert found.labels == drawn
    cell = re.search(r"<title>000, predicted as 000: .*?fill-opacity=\"(.*?)\"", found.to_svg())
    assert cell is not None and float(cell[1]) == pytest.approx(0.55 * (1 / 27) ** 0.5, abs=0.005)
