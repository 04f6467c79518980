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
from bunrui.errors import StoreError
from bunrui.store.schema import FORMAT, OF_STRINGS

FORMATS = Path(__file__).parent / "formats"


def test_there_is_a_file_of_every_format() -> None:
    assert sorted(path.name for path in FORMATS.iterdir()) == [f"{n}.bunrui" for n in range(1, FORMAT + 1)]


@pytest.mark.parametrize("number", range(1, FORMAT + 1))
def test_old_files_open(number: int, tmp_path: Path) -> None:
    path = tmp_path / "old.bunrui"
    shutil.copy(FORMATS / f"{number}.bunrui", path)
    ham, spam = (-1, 10) if number >= 5 else ("ham", "spam")
    expected = TextClassifier("multinomial", alpha=0.5)
    expected.learn(
        ["cheap pills now", "meeting at noon", "料金が無料", "both of them"], [[ham], [ham], [spam], [spam, ham]]
    )
    expected.learn([["given", "tokens"]], [ham]).learn([{"counted": 3}], [spam])
    queries = ["cheap pills", "無料", "tokens at noon", "counted"]
    with bunrui.open(path) as clf:
        assert clf.get_params() | {"analyzer": "universal"} == expected.get_params()
        assert clf.counts == expected.counts
        assert np.array_equal(clf.scores(queries), expected.scores(queries))
        assert clf.check().is_right
        assert len(clf.memory.pool) == (1 if number >= 4 else 0)
        assert [entry.kind for entry in clf.history()] == ["learn"] * 4 + ["unlearn", "relabel"]
        assert clf.classes_.tolist() == sorted([ham, spam])
        clf.learn(["more"], [ham])
        clf.compact()
        assert clf.check().is_right and clf.info()["format"] == max(number, OF_STRINGS)


def test_older_versions_refuse_labels_that_are_no_strings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would take 1 for "1"."""
    for name, labels in (("strings", ["1"]), ("integers", [1])):
        with bunrui.create(tmp_path / name) as clf:
            clf.learn(["a"], labels)
    bunrui.create(tmp_path / "prior", prior={1: 0.4, 2: 0.6}).close()
    with bunrui.create(tmp_path / "later") as clf:
        clf.configure(prior={True: 0.4, False: 0.6})
    monkeypatch.setattr("bunrui.store.schema.FORMAT", OF_STRINGS)
    with bunrui.open(tmp_path / "strings") as clf:
        assert clf.classes_.tolist() == ["1"]
    for name in ("integers", "prior", "later"):
        with pytest.raises(StoreError, match=f"{name} has format 5, this bunrui knows 1 to 4: install a newer bunrui"):
            bunrui.open(tmp_path / name)
