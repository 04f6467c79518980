from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE

DOCUMENTS = {"a": "cheap pills,spam\nlunch at noon,ham\n", "b": "料金が無料,spam\n", "c": "noon?,ham\n"}


@pytest.fixture
def shards(run, tmp_path: Path) -> list[str]:
    for name, rows in DOCUMENTS.items():
        (tmp_path / f"{name}.csv").write_text("text,label\n" + rows)
    return [f"{name}.csv" for name in DOCUMENTS]


def notes(run, file: str) -> list[dict]:
    return [json.loads(line)["note"] for line in run("log", file, "--json").out.splitlines()]


def test_count_and_merge(run, shards: list[str]) -> None:
    for shard in shards:
        assert run("count", shard, "-o", f"{shard}.bunrui").code == 0
    assert run("merge", "all.bunrui", *reversed([f"{shard}.bunrui" for shard in shards])).code == 0
    assert run("learn", "one.bunrui", *shards, "--keep", "nothing").code == 0
    question = ["--line", "cheap 無料 at noon", "--top", "2", "--json"]
    for model in ("binary-complement", "multinomial", "bernoulli"):
        ours, theirs = (run("predict", file, *question, "--model", model) for file in ("all.bunrui", "one.bunrui"))
        assert ours == theirs and ours.code == 0
    (note,) = notes(run, "all.bunrui")
    assert note["n_shards"] == 3 and len(note["shards"]) == 3


def test_a_part_that_is_there_stays(run, shards: list[str]) -> None:
    said = "counted 2 documents of 2 labels into a.bunrui in T\n"
    assert run("count", "a.csv", "-o", "a.bunrui") == (0, "", said)
    before, content = Path("a.bunrui").stat(), Path("a.bunrui").read_bytes()
    said = "a.bunrui has this shard already: it was left as it is\n"
    assert run("count", "a.csv", "-o", "a.bunrui") == (0, "", said)
    Path("elsewhere.csv").write_bytes(Path("a.csv").read_bytes())
    assert run("count", "elsewhere.csv", "-o", "a.bunrui") == (0, "", said)
    after = Path("a.bunrui").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert Path("a.bunrui").read_bytes() == content


@pytest.mark.parametrize(
    "arguments", [["b.csv"], ["a.csv", "b.csv"], ["a.csv", "--analyzer", "words"], ["a.csv", "--as", "x"]]
)
def test_another_part_is_not_replaced(run, shards: list[str], arguments: list[str]) -> None:
    assert run("count", "a.csv", "-o", "a.bunrui").code == 0
    assert run("count", *arguments, "-o", "a.bunrui") == (
        1,
        "",
        "error: a.bunrui: this is there already, with other shards or options: delete it, or give another name\n",
    )


def test_an_id_of_ones_own(run, shards: list[str]) -> None:
    part = ["count", *shards, "-o", "day.bunrui", "--shard-id", "day-17"]
    assert run(*part).err == "counted 4 documents of 2 labels into day.bunrui in T\n"
    assert run(*part).err == "day.bunrui has this shard already: it was left as it is\n"
    assert run(*part, "--skip-bad").code == 1
    (note,) = notes(run, "day.bunrui")
    assert (note["shards"], note["n_shards"]) == (["day-17"], 1)
    assert run("count", "-", "-o", "pipe.bunrui", "--shard-id", "p", stdin="text,label\nx,y\n").code == 0
    assert run("count", "-", "-o", "other.bunrui", stdin="text,label\nx,y\n") == (
        2,
        "",
        "error: the standard input has no name that tells it from others: give --shard-id.\n"
        "Try 'bunrui count --help'.\n",
    )


def test_a_shard_is_merged_once(run, shell, shards: list[str]) -> None:
    run("count", "a.csv", "-o", "a.bunrui")
    run("count", "b.csv", "-o", "b.bunrui")
    assert run("merge", "all.bunrui", "a.bunrui").code == 0
    code, out, err = shell("merge", "all.bunrui", "b.bunrui", "a.bunrui")
    assert (code, out) == (0, "")
    assert err.startswith("left out a.bunrui: all.bunrui has its shards already\n")
    assert err.endswith("merged 1 file into all.bunrui: it has learned 3 documents of 2 labels\n")
    assert shell("merge", "all.bunrui", "b.bunrui", "a.bunrui") == (
        0,
        "",
        "left out b.bunrui: all.bunrui has its shards already\n"
        "left out a.bunrui: all.bunrui has its shards already\n"
        "nothing new for all.bunrui: it has learned 3 documents of 2 labels\n",
    )


def test_what_was_killed_is_made_again(run, start, tmp_path: Path) -> None:
    rows = "text,label\n" + "".join(f"word{n} other{n * 7} third{n * 13},x\n" for n in range(60_000))
    process = start("count", "-", "-o", "large.bunrui", "--shard-id", "large")
    process.stdin.write(rows.encode())  # returns when nearly all was read; the end never comes
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL and not (tmp_path / "large.bunrui").exists()
    (tmp_path / "large.csv").write_text(rows)
    assert run("count", "large.csv", "-o", "large.bunrui").err == (
        "counted 60,000 documents of 1 label into large.bunrui in T\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "err"),
    [
        (["a.csv"], 2, "error: missing option '--output' / '-o'.\nTry 'bunrui count --help'.\n"),
        (
            ["a.csv", "-o", ""],
            2,
            "error: invalid value for '--output' / '-o': it is empty.\nTry 'bunrui count --help'.\n",
        ),
        (
            ["a.csv", "-o", "x", "--shard-id", " "],
            2,
            "error: invalid value for '--shard-id': it is empty.\nTry 'bunrui count --help'.\n",
        ),
        (["no.csv", "-o", "x"], 1, "error: there is no file 'no.csv': check the path\n"),
        (["no.csv", "-o", "no/x"], 1, "error: no/x: there is no folder no: make it, or check the path\n"),
        (["*.tsv", "-o", "x"], 1, "error: no file matches '*.tsv': check the pattern\n"),
        (
            ["a.csv", "./a.csv", "-o", "x"],
            1,
            "error: ./a.csv and a.csv hold the same: leave one out, or give all together an id of your own\n",
        ),
    ],
)
def test_what_cannot_be_counted(run, shards: list[str], arguments: list[str], code: int, err: str) -> None:
    assert run("count", *arguments) == (code, "", err)
    assert not Path("x").exists()


@pytest.mark.parametrize("memory", [[], ["--memory", "2GB"]])
def test_empty_shards(run, shell, shards: list[str], memory: list[str]) -> None:
    for name in ("empty.csv", "too.csv"):
        Path(name).write_text("text,label\n")
    Path("empty.jsonl").write_bytes(b"")
    said = "counted 0 documents of 0 labels into x.bunrui in T\n"
    assert run("count", "empty.csv", "too.csv", "empty.jsonl", "-o", "x.bunrui", *memory) == (0, "", said)
    said = "x.bunrui has these shards already: it was left as it is\n"
    assert run("count", "empty.csv", "too.csv", "empty.jsonl", "-o", "x.bunrui", *memory) == (0, "", said)
    assert run("check", "x.bunrui").code == 0
    assert run("count", "b.csv", "too.csv", "-o", "b.bunrui", *memory).code == 0
    assert run("count", "a.csv", "-o", "a.bunrui", *memory).code == 0
    said = "merged 2 files into all.bunrui: it has learned 2 documents of 2 labels\n"
    assert run("merge", "all.bunrui", "x.bunrui", "a.bunrui") == (0, "", said)
    assert notes(run, "all.bunrui")[0]["n_shards"] == 3
    assert shell("merge", "all.bunrui", "x.bunrui") == (
        0,
        "",
        "left out x.bunrui: all.bunrui has its shards already\n"
        "nothing new for all.bunrui: it has learned 2 documents of 2 labels\n",
    )
    said = "merged 1 file into none.bunrui: it has learned 0 documents of 0 labels\n"
    assert run("merge", "none.bunrui", "x.bunrui") == (0, "", said)
    assert run("undo", "none.bunrui").code == run("merge", "none.bunrui", "x.bunrui", "a.bunrui").code == 0


def test_no_good_documents(run, shards: list[str]) -> None:
    Path("bad.csv").write_text("text,label\na,\n")
    code, out, err = run("count", "bad.csv", "-o", "x.bunrui", "--skip-bad")
    assert (code, out) == (1, "") and err.endswith("error: there are no documents to be read: nothing was counted\n")
    Path("empty.csv").write_bytes(b"")
    assert run("count", "empty.csv", "-o", "x.bunrui") == (
        1,
        "",
        "error: empty.csv: the file is empty: give one with documents\n",
    )
    assert not Path("x.bunrui").exists()


def test_addresses_and_patterns(run, shards: list[str], tmp_path: Path) -> None:
    assert run("count", "*.csv", "-o", "here.bunrui").code == 0
    assert run("count", f"file://{tmp_path}/*.csv", "-o", "there.bunrui").code == 0
    assert notes(run, "here.bunrui") == notes(run, "there.bunrui")


# --- options of a cluster


@pytest.mark.parametrize(
    ("arguments", "err"),
    [
        (["learn", "x", "a.csv", "--address", "h:1"], "--address goes with --engine ray."),
        (["learn", "x", "a.csv", "--engine", "ray", "--unique"], "--engine ray goes without --unique."),
        (
            ["learn", "x", "a.csv", "--engine", "ray", "--keep", "text"],
            "--engine ray goes with --keep nothing: on a cluster documents stay where they are.",
        ),
        (
            ["learn", "x", "a.csv", "--engine", "spark"],
            "invalid value for '--engine': choose one of threads, ray, not 'spark'.",
        ),
        (
            ["predict", "x", "a.csv", "--engine", "ray"],
            "--engine ray needs DATA, and --output with the name of a folder.",
        ),
        (["predict", "x", "--line", "a", "--engine", "ray", "-o", "d"], "--engine ray goes without --line."),
    ],
)
def test_options_that_do_not_go_together(run, shards: list[str], arguments: list[str], err: str) -> None:
    assert run(*arguments) == (2, "", f"error: {err}\nTry 'bunrui {arguments[0]} --help'.\n")
    assert not Path("x").exists()


def test_a_stream_stays_here(run, shards: list[str]) -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'bunrui[ray]'")
    err = (
        "error: <stdin> is a stream, which one process reads alone: give the names of files\n"
        "Try 'bunrui learn --help'.\n"
    )
    assert run("learn", "x", "-", "--engine", "ray") == (2, "", err)
    assert not Path("x").exists()
