"""`benchmarks/threads.py` on a few documents."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks at threads as Linux shows them")


def threads(folder: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the script on a corpus of two sentences."""
    rows = {"label": ["good", "bad"] * 2000, "text": ["a fine film", "a dull film"] * 2000}
    (folder / "imdb").mkdir()
    for split in ("train", "test"):
        pq.write_table(pa.table(rows), folder / "imdb" / f"{split}.parquet")
    script = [sys.executable, REPOSITORY / "benchmarks" / "threads.py", "--corpora", "imdb", "--folder", folder]
    return subprocess.run([*script, *options], capture_output=True, text=True, check=False)


@pytest.mark.slow  # test_page.py measures one checkout
def test_a_small_corpus_beside_another_checkout(tmp_path: Path) -> None:
    ignore = shutil.ignore_patterns("__pycache__")  # other workers write there
    shutil.copytree(REPOSITORY / "src", tmp_path / "other" / "src", ignore=ignore)
    done = threads(tmp_path, "--threads", "1,3", "--runs", "2", "--against", tmp_path / "other", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    tasks = product(("universal", "words"), ("learn", "first", "predict"), (1, 3))
    assert [(row["analyzer"], row["task"], row["threads"]) for row in rows] == list(tasks)
    for row in rows:
        assert row["wall ms"] > 0 and row["processor ms"] > 0 and row["× other"] > 0
        assert (row["× words"] is None) == (row["analyzer"] == "words")
        if row["threads"] == 1:
            assert row["× 1"] == row["cost"] == 1 and row["alone"] is None
        elif row["alone"] is not None:  # a task may end before it is looked at
            assert row["alone"] > 0.5  # so little is not shared


def test_a_folder_that_is_no_checkout(tmp_path: Path) -> None:
    done = threads(tmp_path, "--against", tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("should be a checkout of bunrui with src/bunrui in it, but has none\n")
