"""Files of every format that there ever was open, and say what they said.

`formats/N.bunrui` was written by the last version with format N, and is never written again.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.store.schema import FORMAT

FORMATS = Path(__file__).parent / "formats"


def test_there_is_a_file_of_every_format() -> None:
    assert sorted(path.name for path in FORMATS.iterdir()) == [f"{n}.bunrui" for n in range(1, FORMAT + 1)]


@pytest.mark.parametrize("number", range(1, FORMAT + 1))
def test_old_files_open(number: int, tmp_path: Path) -> None:
    path = tmp_path / "old.bunrui"
    shutil.copy(FORMATS / f"{number}.bunrui", path)
    expected = TextClassifier("multinomial", alpha=0.5)
    expected.learn(
        ["cheap pills now", "meeting at noon", "料金が無料", "both of them"], ["ham", "ham", "spam", ["spam", "ham"]]
    )
    expected.learn([["given", "tokens"]], ["ham"]).learn([{"counted": 3}], ["spam"])
    queries = ["cheap pills", "無料", "tokens at noon", "counted"]
    with bunrui.open(path) as clf:
        assert clf.get_params() | {"analyzer": "universal"} == expected.get_params()
        assert clf.counts == expected.counts
        assert np.array_equal(clf.scores(queries), expected.scores(queries))
        assert clf.check().is_right
        assert len(clf.memory.pool) == (1 if number >= 4 else 0)
        assert [entry.kind for entry in clf.history()] == ["learn"] * 4 + ["unlearn", "relabel"]
        clf.learn(["more"], ["ham"])
        clf.compact()
        assert clf.check().is_right
