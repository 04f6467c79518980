from __future__ import annotations

from pathlib import Path

import pytest

import bunrui


def test_labels_are_read_once_for_all_batches(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "a.bunrui") as clf:
        clf.learn(["a", "b"], ["x", "y"])
        statements: list[str] = []
        clf._file.store.db.set_trace_callback(statements.append)
        with clf.learning() as session:
            for number in range(20):
                session.add(["c", "d"], [f"label{number % 7}", "x"])
        clf._file.store.db.set_trace_callback(None)
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
        assert clf._file.store.labels() == ["x", "lost", "new"]
        assert clf.check().is_right
