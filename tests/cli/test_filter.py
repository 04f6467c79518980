from __future__ import annotations

import gzip
import json
import os
import re
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bunrui.selection.ratio import Ratio
from tests.support.commands import small_files
from tests.support.waiting import PATIENCE

GOOD = ["a good film", "the best film of the year", "few films are as good"]
TEXTS = [f"rain on day {k}, shares fell by {k} points" for k in range(40)]
TEXTS[7], TEXTS[20], TEXTS[33] = "a film of the year", "", "the best film, as good as few"
ROWS = [{"text": text, "n": k, "meta": {"when": "2026-01-02 03:04:05", "x": [k]}} for k, text in enumerate(TEXTS)]
BUCKETS = re.compile(r"1,048,576 buckets: 0\.\d% of about [\d,]+ features share one\n")


@pytest.fixture
def files(run: Any, tmp_path: Path) -> Path:
    """good.txt, raw.jsonl and raw.parquet; the folder is the current one."""
    Path("good.txt").write_text("\n".join(GOOD) + "\n")
    Path("raw.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    pq.write_table(pa.Table.from_pylist(ROWS), "raw.parquet")
    return tmp_path


def ask(run: Any, *arguments: str, raw: str = "raw.jsonl") -> Any:
    return run("filter", "--target", "good.txt", "--raw", raw, *arguments)


def said(err: str) -> str:
    """Without the line about buckets, which must be there."""
    assert BUCKETS.search(err), err
    return BUCKETS.sub("", err)


def lines(*places: int) -> str:
    return "".join(json.dumps(ROWS[place]) + "\n" for place in places)


def test_the_best_on_stdout(run, files: Path) -> None:
    code, out, err = ask(run, "--top", "2")
    assert (code, out) == (0, lines(7, 33)) and said(err) == "selected 2 of 40 documents in T\n"


def test_rows_come_out_in_utf8(run, files: Path) -> None:
    rows = [{"text": "映画は良かった", "n": "1"}, {"text": "明日の天気", "n": "2"}]
    raws = {"raw.csv": "text,n\n映画は良かった,1\n明日の天気,2\n"}
    raws["raw.txt"] = "text\tn\n映画は良かった\t1\n明日の天気\t2\n"
    raws["raw2.jsonl"] = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    for raw, text in raws.items():
        for written, encoding in (("cp932", "auto"), ("cp932", "cp932"), ("utf-8", "auto"), ("utf-8", "utf-8")):
            Path("good.txt").write_bytes("映画は良い\n".encode(written))
            Path(raw).write_bytes(text.encode(written))
            code, out, err = ask(run, "--top", "1", "--encoding", encoding, raw=raw)
            assert (code, out) == (0, json.dumps(rows[0], ensure_ascii=False) + "\n"), err


@pytest.mark.parametrize(
    ("options", "n"), [(["--top", "5%"], 2), (["--top", "100%"], 39), (["--threshold", "0"], 2), (["--sample", "2"], 2)]
)
def test_ways_to_select(run, files: Path, options: list[str], n: int) -> None:
    code, out, err = ask(run, *options)
    assert code == 0 and len(out.splitlines()) == n and said(err).startswith(f"selected {n} of 40 documents")
    assert lines(7) in out and lines(33) in out and lines(20) not in out


def test_seeds(run, files: Path) -> None:
    found = {seed: ask(run, "--sample", "8", "--seed", seed).out for seed in ("0", "1", "2", "3")}
    assert found["0"] == ask(run, "--sample", "8").out == ask(run, "--sample", "8", raw="raw.parquet").out
    assert len(set(found.values())) == 4


def test_scores(run, files: Path) -> None:
    ratios = Ratio().learn_target(GOOD).learn_raw(TEXTS).scores(TEXTS)
    for raw in ("raw.jsonl", "raw.parquet"):
        found = [json.loads(line) for line in ask(run, "--top", "2", "--scores", raw=raw).out.splitlines()]
        assert found == [ROWS[place] | {"log_ratio": ratios[place]} for place in (7, 33)]
        assert ask(run, "--top", "2", "--scores", "-o", "out.parquet", raw=raw).code == 0
        table = pq.read_table("out.parquet")
        assert table.column_names == ["text", "n", "meta", "log_ratio"]
        assert table["log_ratio"].to_pylist() == [ratios[7], ratios[33]]


@pytest.mark.parametrize("raw", ["raw.jsonl", "raw.parquet"])
@pytest.mark.parametrize("suffix", ["jsonl", "ndjson", "parquet", "pq"])
def test_files(run, files: Path, raw: str, suffix: str) -> None:
    out = Path(f"out.{suffix}")
    out.write_text("of yesterday")
    code, stdout, err = ask(run, "--top", "2", "-o", str(out), raw=raw)
    assert (code, stdout) == (0, "") and said(err) == f"selected 2 of 40 documents into {out} in T\n"
    if suffix in ("jsonl", "ndjson"):
        assert out.read_text() == lines(7, 33)
    else:
        table = pq.read_table(out)
        assert table.to_pylist() == [ROWS[7], ROWS[33]]
        assert table.schema.field("meta").type.field("when").type == pa.string()
    assert {path.name for path in files.iterdir()} == {"good.txt", "raw.jsonl", "raw.parquet", out.name}


@pytest.mark.parametrize("out", ["out.jsonl", "out.parquet"])
def test_columns_of_one_name(run, files: Path, out: str) -> None:
    pq.write_table(pa.Table.from_arrays([["a film"], [1], ["x"]], names=["text", "n", "n"]), "twice.parquet")
    assert ask(run, "--top", "1", "-o", out, raw="twice.parquet").code == 0
    rows = pq.read_table(out).to_pylist() if out.endswith("parquet") else [json.loads(Path(out).read_text())]
    assert rows == [{"text": "a film", "n": 1, "n (2)": "x"}]


def test_nothing_is_selected(run, files: Path) -> None:
    for raw, names in (("raw.parquet", ["text", "n", "meta"]), ("raw.jsonl", ["text"])):
        assert ask(run, "--threshold", "1e9", "-o", "out.parquet", raw=raw).code == 0
        assert pq.read_table("out.parquet").num_rows == 0 and pq.read_table("out.parquet").column_names == names
    code, _, err = ask(run, "--threshold", "1e9", "-o", "out.jsonl")
    assert (code, Path("out.jsonl").read_text()) == (0, "") and said(err).startswith("selected 0 of 40 documents into")


def test_files_with_other_columns(run, files: Path) -> None:
    pq.write_table(pa.table({"more": [b"\xff"], "text": ["a good film of the year"]}), "more.parquet")
    options = ["--raw", "more.parquet", "--top", "3"]
    assert ask(run, *options, "-o", "out.parquet", raw="raw.parquet").code == 0
    rows = pq.read_table("out.parquet").to_pylist()
    assert [row["more"] for row in rows] == [None, None, b"\xff"] and [row["n"] for row in rows] == [7, 33, None]
    code, _, err = ask(run, *options, raw="raw.parquet")
    assert (code, err) == (1, "error: raw has a column of bytes, which JSON lines do not hold: write .parquet\n")
    pq.write_table(pa.table({"text": ["a film"], "n": [[1]]}), "more.parquet")
    code, _, err = ask(run, *options, "-o", "new.parquet", raw="raw.parquet")
    assert code == 1 and err.startswith("error: the files have a column of the same name with different types: ")
    assert not Path("new.parquet").exists()


def test_mixed_files_and_odd_values(run, files: Path) -> None:
    table = pa.table({"text": ["a good film of the year"], "day": [date(2026, 1, 2)], "x": [float("nan")]})
    pq.write_table(table, "more.parquet")
    Path("more.csv").write_text('text,y\n"the best film, ""of"" the year",5\n')
    options = ["--raw", "more.parquet", "--raw", "more.csv", "--top", "4"]
    expected = [
        ROWS[7],
        ROWS[33],
        {"text": "a good film of the year", "day": "2026-01-02", "x": None},
        {"text": 'the best film, "of" the year', "y": "5"},
    ]
    assert [json.loads(line) for line in ask(run, *options).out.splitlines()] == expected
    assert ask(run, *options, "-o", "out.parquet").code == 0
    found = pq.read_table("out.parquet").to_pylist()
    assert [{name: value for name, value in row.items() if value is not None} for row in found] == [
        {name: value for name, value in row.items() if value is not None} for row in expected
    ]


def test_lines_that_make_no_columns(run, files: Path) -> None:
    rows = [{"text": "a good film", "n": 1}, {"text": "the best film", "n": "one"}]
    Path("raw.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = ask(run, "--top", "2", "-o", "out.parquet")
    assert (code, out) == (1, "") and err.startswith("error: the selected rows do not fit into columns: ")
    assert err.endswith(". Write .jsonl\n") and not Path("out.parquet").exists()
    assert ask(run, "--top", "2", "-o", "out.jsonl").code == 0


@pytest.mark.parametrize("raw", ["raw.jsonl", "raw.parquet"])
@pytest.mark.parametrize("output", [[], ["-o", "out.parquet"], ["-o", "out.jsonl"]])
def test_scores_that_are_there_already(run, files: Path, raw: str, output: list[str]) -> None:
    rows = [{"text": "a good film", "log_ratio": 1.5}]
    Path("raw.jsonl").write_text(json.dumps(rows[0]) + "\n")
    pq.write_table(pa.Table.from_pylist(rows), "raw.parquet")
    err = "error: raw has a column 'log_ratio' already: rename it, or leave --scores out\n"
    assert ask(run, "--top", "1", "--scores", *output, raw=raw) == (1, "", err)
    assert ask(run, "--top", "1", *output, raw=raw).code == 0


def test_options_of_reading_and_analysis(run, files: Path) -> None:
    Path("good.csv").write_text("body\n" + "\n".join(GOOD) + "\n")
    body = "".join(json.dumps({"body": text}) + "\n" for text in TEXTS)
    Path("raw.jsonl.gz").write_bytes(gzip.compress((body + "nothing\n").encode()))
    options = ["filter", "--target", "good.csv", "--raw", "raw.jsonl.gz", "--text", "body", "--top", "2"]
    code, out, err = run(*options, "--analyzer", "words", "--skip-bad")
    assert code == 0 and [json.loads(line)["body"] for line in out.splitlines()] == [TEXTS[7], TEXTS[33]]
    assert said(err).startswith("selected 2 of 40 documents in T\nskipped 1 bad row:\n  raw.jsonl.gz, line 41: ")
    code, out, err = run(*options)
    assert (code, out) == (1, "") and err.startswith("error: raw.jsonl.gz, line 41: ")


def test_every_word_by_itself(run, files: Path) -> None:
    assert ask(run, "--top", "2", "--hash-bits", "0") == (0, lines(7, 33), "selected 2 of 40 documents in T\n")
    code, out, err = ask(run, "--top", "2", "--hash-bits", "10")
    assert (code, out) == (0, lines(7, 33)) and "\n1,024 buckets: " in err
    said = "--hash-bits should be 8 to 26, or 0 to count every feature by itself, not 7"
    err = f"error: {said}\nTry 'bunrui filter --help'.\n"
    assert ask(run, "--top", "2", "--hash-bits", "7") == (2, "", err)


def test_a_sample_of_raw_to_count(run, files: Path) -> None:
    assert ask(run, "--top", "2", "--fit-on", "30").out == lines(7, 33)


# --- usage


@pytest.mark.parametrize(
    ("options", "err"),
    [
        ([], "give one of --threshold, --top and --sample, to say what is selected"),
        (["--top", "1", "--sample", "1"], "give one of --threshold, --top and --sample, to say what is selected"),
        (
            ["--top", "5%", "--fit-on", "9"],
            "a share of raw is known when all of it is counted: leave --fit-on out, or give a number",
        ),
        (
            ["--top", "1", "-o", "x.csv"],
            "the name 'x.csv' does not tell the format: give it one of .parquet .jsonl",
        ),
        (
            ["--top", "1", "--raw", "-"],
            "--raw is read twice, and the standard input can be read once: write it to a file first.",
        ),
    ],
)
def test_wrong_usage(run, files: Path, options: list[str], err: str) -> None:
    assert ask(run, *options) == (2, "", f"error: {err}\nTry 'bunrui filter --help'.\n")


@pytest.mark.parametrize("top", ["0", "-3", "1.5", "0%", "101%", "many", "%", ""])
def test_a_top_that_makes_no_sense(run, files: Path, top: str) -> None:
    code, out, err = ask(run, "--top", top)
    assert (code, out) == (2, "") and f"{top!r} is neither a whole number above 0 nor a share such as 10%." in err


def test_input_that_cannot_be_read(run, files: Path) -> None:
    Path("blank.txt").write_text("\n")
    lacking = "there is no column 'body', only 'text', 'n', 'meta': choose another with --text"
    for target, raw, err in (
        ("no.txt", "raw.jsonl", "there is no file 'no.txt': check the path"),
        ("good.txt", "no.jsonl", "there is no file 'no.jsonl': check the path"),
        ("blank.txt", "raw.jsonl", "the target has no words: nothing can look like it"),
        ("raw.parquet", "raw.parquet", f"raw.parquet: {lacking}"),
    ):
        options = ["--text", "body"] if target == raw else []
        assert run("filter", "--target", target, "--raw", raw, "--top", "1", *options) == (1, "", f"error: {err}\n")


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes with names")
def test_a_pipe_is_read_once(run, files: Path) -> None:
    os.mkfifo("pipe.jsonl")
    err = "error: pipe.jsonl: this is a stream, and raw is read twice: write it to a file first\n"
    assert ask(run, "--top", "1", raw="pipe.jsonl") == (1, "", err)


def test_the_target_may_be_the_standard_input(run, files: Path) -> None:
    found = run("filter", "--target", "-", "--raw", "raw.jsonl", "--top", "2", stdin="\n".join(GOOD))
    assert (found.code, found.out) == (0, lines(7, 33))


# --- output that cannot be written

NO_FOLDER = "there is no folder folder.jsonl/no: make it, or check the path\n"


def test_no_half_written_file(run, files: Path) -> None:
    with open("raw.jsonl", "a") as file:
        file.write("nothing\n")
    for name in ("out.jsonl", "out.parquet"):
        Path(name).write_text("as it was")
        code, _, err = ask(run, "--threshold", "0", "-o", name)
        assert code == 1 and err.startswith("error: raw.jsonl, line 41: ") and Path(name).read_text() == "as it was"
    assert len(list(files.iterdir())) == 5


@pytest.mark.parametrize(
    ("path", "err"),
    [
        ("folder.jsonl", "error: folder.jsonl: this is a folder: name a file in it\n"),
        (
            "folder.jsonl/no/out.jsonl",
            f"error: folder.jsonl/no/out.jsonl: {NO_FOLDER}",
        ),
        (
            "folder.jsonl/no/out.pq",
            f"error: folder.jsonl/no/out.pq: {NO_FOLDER}",
        ),
    ],
)
def test_output_that_cannot_be_written(run, files: Path, path: str, err: str) -> None:
    Path("folder.jsonl").mkdir()
    for raw in ("raw.jsonl", "raw.parquet"):
        assert ask(run, "--threshold", "0", "-o", path, raw=raw) == (1, "", err)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
def test_a_full_disk(start, files: Path) -> None:
    with open("/dev/full", "wb") as full:
        process = start("filter", "--target", "good.txt", "--raw", "raw.jsonl", "--top", "2", stdout=full)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and b"the disk is full: make room\n" in err and b"Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="no limits")
@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("out.jsonl", ["--threshold", "-1e9"]),
        ("out.parquet", ["--top", "999"]),
        pytest.param("out.parquet", ["--threshold", "-1e9"], marks=pytest.mark.slow),
        pytest.param("out.jsonl", ["--top", "999"], marks=pytest.mark.slow),
    ],
)
def test_no_room_for_the_file(start, files: Path, name: str, way: list[str]) -> None:
    with open("raw.jsonl", "w") as file:
        file.writelines(json.dumps({"text": f"{text} {k * k}", "n": k}) + "\n" for k, text in enumerate(TEXTS * 20))
    Path(name).write_text("as it was")
    arguments = ["filter", "--target", "good.txt", "--raw", "raw.jsonl", *way, "-o", name, "--hash-bits", "8"]
    process = start(*arguments, python=small_files(20_000))
    out, err = process.communicate(timeout=PATIENCE)
    message = b"the file would be larger than the system allows: raise the limit, or write elsewhere\n"
    assert (process.returncode, out) == (1, b"") and message in err and b"Traceback" not in err
    if way[0] == "--top":
        assert err.endswith(b"error: .: " + message)
    assert Path(name).read_text() == "as it was"
    assert {path.name for path in files.iterdir()} == {"good.txt", "raw.jsonl", "raw.parquet", name}
