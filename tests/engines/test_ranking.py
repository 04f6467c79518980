"""Documents: cut into parts that are scored at once."""

from __future__ import annotations

import pyarrow as pa
import pytest

from bunrui.engines import ranking
from bunrui.engines.ranking import slices


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("start", [0, 3])
def test_parts_are_small_and_miss_nothing(kind: pa.DataType, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["", "語", "a" * 9, "b" * 10, "c" * 11, "d" * 30, *"efghij" * 4, "", ""][start:]
    parts = list(slices(pa.array(["", "", "", *texts], kind)[3:], 2, 10))
    assert [text for part in parts for text in part.to_pylist()] == texts
    assert len(parts) > 5
    for part in parts:
        assert len(part) == 1 or sum(len(text.encode()) for text in part.to_pylist()) <= 10
    monkeypatch.setattr(ranking, "_MOST_SCORES", 6)
    assert max(len(part) for part in slices(pa.array(texts, kind), 2, 10)) == 3
    assert [len(part) for part in slices(["a"] * 8, 2, 10)] == [3, 3, 2]
