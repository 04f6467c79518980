from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bunrui
from bunrui.store import schema
from tests.support.files import sql


def test_labels_are_read_once_for_all_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[str] = []

    class Traced(schema.Connection):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.set_trace_callback(statements.append)

    monkeypatch.setattr(schema, "Connection", Traced)
    with bunrui.create(tmp_path / "a.bunrui", "multinomial") as clf:  # nothing else reads labels, as a choice would
        clf.learn(["a", "b"], ["x", "y"])
        statements.clear()
        with clf.learning() as session:
            for number in range(20):
                session.add(["c", "d"], [f"label{number % 7}", "x"])
        assert sum("FROM labels" in statement for statement in statements) == 1
        assert sum("INTO labels" in statement for statement in statements) == 7
        assert clf.check().is_right
        assert clf.info()["labels"]["x"] == 21 and len(clf.info()["labels"]) == 9


def test_labels_of_a_transaction_that_failed_are_forgotten(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "a.bunrui") as clf:
        clf.learn(["a"], ["x"])
        with pytest.raises(RuntimeError), clf.learning() as session:
            session.add(["b", "c"], ["gone", "lost"])
            raise RuntimeError
        clf.learn(["d", "e"], ["new", "lost"])
        assert sql(clf.path, "SELECT name FROM labels ORDER BY label") == [("x",), ("lost",), ("new",)]
        assert clf.check().is_right
