"""Documents of uploaded files wait on disk, and not in memory."""

from __future__ import annotations

import tracemalloc
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from bunrui.service.intake import BatchFile


def test_one_batch_is_in_memory_at_a_time(tmp_path: Path) -> None:
    batch = pa.record_batch({"text": ["x" * 1000] * 1000, "label": ["spam"] * 1000})
    with closing(BatchFile(str(tmp_path))) as found:
        for _ in range(40):
            found.add(batch)
        tracemalloc.start()
        before = pa.total_allocated_bytes()
        try:
            for again in found:
                assert again.equals(batch)
                assert pa.total_allocated_bytes() - before < 4 * batch.nbytes
            assert tracemalloc.get_traced_memory()[1] < 8 * batch.nbytes
        finally:
            tracemalloc.stop()
        assert found.n_docs == 40_000 and found.n_bytes > 40 * batch.nbytes
        assert list(tmp_path.iterdir()) == [], "nobody else sees the file"


def test_batches_may_differ(tmp_path: Path) -> None:
    """One file has a label for each document, another several."""
    batches = [pa.record_batch({"label": ["a"]}), pa.record_batch({"label": [["a", "b"]]})]
    with closing(BatchFile(str(tmp_path))) as found:
        for batch in batches:
            found.add(batch)
        assert list(found) == batches == list(found)
