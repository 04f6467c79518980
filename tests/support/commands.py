"""Small files for the command line, and its answers as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write(name: str, *rows: object) -> str:
    """Write rows as lines of JSON; the file's name."""
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def small_files(n_bytes: int) -> tuple[str, str]:
    """A Python for `start` and `shell` whose command line may write no larger file."""
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({n_bytes}, {n_bytes}))"
    quiet = "sys.dont_write_bytecode = True"  # it would be cut at the limit, and other processes would read it
    return "-c", f"import resource, sys; {quiet}; {limit}; from bunrui.cli import main; sys.exit(main())"


def learn(run: Any, file: str, rows: str, *options: str) -> None:
    """Let a classifier learn rows of a table, `text,label`, which stay in rows.csv."""
    Path("rows.csv").write_text("text,label\n" + rows)
    assert run("learn", file, "rows.csv", *options).code == 0


def info(run: Any, file: str) -> dict[str, Any]:
    """All that `info` tells about a classifier."""
    found: dict[str, Any] = json.loads(run("info", file, "--json").out)
    return found
