from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import bunrui.store
from bunrui.documents import read
from bunrui.documents.spreadsheet import SheetWriter
from tests.support.processes import patience_with
from tests.support.waiting import PATIENCE

TEXTS = ["free pills", "see you at noon", "team"]


@pytest.fixture
def new(mail: Path) -> Path:
    path = mail.parent / "new.csv"
    path.write_text("key,text\na,free pills\nb,see you at noon\nc,team\n")
    return path


def expected(texts: list[str], model: str | None = None) -> list[tuple[str, float]]:
    with bunrui.store.open("mail.bunrui") as clf:
        asked = clf.with_model(model) if model else clf
        return list(zip(asked.predict(texts).tolist(), asked.predict_proba(texts).max(axis=1).tolist(), strict=True))


def lines(texts: list[str]) -> str:
    return "".join(f"{label}\t{share:.4f}\n" for label, share in expected(texts))


def test_lines_of_the_command_line(run, mail: Path) -> None:
    assert run("predict", "mail.bunrui", "--line", TEXTS[0], "--line", TEXTS[1]) == (0, lines(TEXTS[:2]), "")


def test_files(run, new: Path) -> None:
    assert run("predict", "mail.bunrui", "new.csv") == (0, lines(TEXTS), "")
    assert run("predict", "mail.bunrui", "new.csv", "new.csv") == (0, lines(TEXTS) * 2, "")


def test_labels_in_the_data_are_not_looked_at(run, mail: Path) -> None:
    Path("a.csv").write_text("text,label\nteam,\n")
    assert run("predict", "mail.bunrui", "a.csv") == (0, lines(["team"]), "")


@pytest.mark.parametrize(
    "stdin",
    [
        "free pills\nsee you at noon\nteam\n",
        "free pills\nsee you at noon\nteam",
        "free pills\r\nsee you at noon\r\nteam\r\n",
    ],
)
@pytest.mark.parametrize("dash", [[], ["-"]])
def test_standard_input(run, mail: Path, stdin: str, dash: list[str]) -> None:
    assert run("predict", "mail.bunrui", *dash, stdin=stdin) == (0, lines(TEXTS), "")


@pytest.mark.parametrize(
    "stdin",
    [
        "text\nfree pills\nsee you at noon\nteam\n",
        '{"text": "free pills"}\n{"text": "see you at noon"}\n{"text": "team"}\n',
        "__label__x free pills\n__label__x see you at noon\n__label__x team\n",
        "\ufefffree pills\nsee you at noon\nteam\n",
    ],
    ids=["csv", "jsonl", "fasttext", "mark"],
)
def test_the_format_of_the_standard_input_is_found(run, mail: Path, stdin: str) -> None:
    assert run("predict", "mail.bunrui", stdin=stdin) == (0, lines(TEXTS), "")


@pytest.mark.skipif(sys.platform == "win32", reason="nobody can ask a pipe whether it has more")
@pytest.mark.parametrize(
    ("arguments", "first", "pattern"),
    [
        ([], "", "{}\n"),
        (["--top", "2"], "", "speaker: {}\r\n"),
        (["--json"], "", '{{"text": "{}"}}\n'),
        (["--format", "csv"], "key,text\n", '7,"{}"\n'),
        (["--labels"], "", "__label__x {}\n"),
        (["--format", "lines", "--encoding", "cp932"], "", "{}\n"),
    ],
    ids=["lines", "top", "jsonl", "csv", "fasttext", "encoding"],
)
def test_each_line_of_an_open_pipe_is_answered_at_once(
    run, start, mail: Path, arguments: list[str], first: str, pattern: str
) -> None:
    process, whole = start("predict", "mail.bunrui", *arguments), first
    process.stdin.write(first.encode())
    process.stdin.flush()
    answers = []
    with patience_with(process):
        for text in [*TEXTS, "", TEXTS[0]]:
            line = pattern.format(text)
            for part in (line[:5], line[5:]):  # nor is half a line answered
                process.stdin.write(part.encode())
                process.stdin.flush()
            answers.append(process.stdout.readline().decode())
            whole += line
        process.stdin.write(b"\n")
        process.stdin.close()
        rest, err = process.stdout.read().decode(), process.stderr.read().decode()
        assert process.wait() == 0
    expected = run("predict", "mail.bunrui", *arguments, stdin=whole + "\n")
    assert (0, "".join(answers) + rest, err) == expected and all(answers)


@pytest.mark.skipif(sys.platform == "win32", reason="nobody can ask a pipe whether it has more")
def test_a_mail_that_comes_line_by_line_is_one_document(start, run, mail: Path) -> None:
    process = start("predict", "mail.bunrui")
    lines = [b"From: a@b.c\n", b"To: b@c.d\n", b"Subject: free pills\n", b"Date: now\n", b"\n", b"cheap\n", b"pills\n"]
    for line in lines:
        process.stdin.write(line)
        process.stdin.flush()
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out.decode(), err.decode()) == run(
        "predict", "mail.bunrui", stdin=b"".join(lines).decode()
    )
    assert out.count(b"\n") == 1


FOREIGN = ["\u4f60\u597d", "\u62e8\u6253 110!", "\u8fd9\u662f\u4ec0\u4e48", "..."]


def test_documents_without_a_known_word(run, mail: Path) -> None:
    many = "warning: {} documents have no word that mail.bunrui knows: these labels are guesses\n"
    assert run("predict", "mail.bunrui", "--line", FOREIGN[0]).err == (
        "warning: the document has no word that mail.bunrui knows: its label is a guess\n"
    )
    assert run("predict", "mail.bunrui", *(f"--line={text}" for text in [*TEXTS[:2], *FOREIGN[:2]])).err == ""
    assert run("predict", "mail.bunrui", *(f"--line={text}" for text in [*TEXTS[:2], *FOREIGN[:3]])).err == many.format(
        "3 of 5"
    )
    Path("foreign.txt").write_text("".join(f"{text}\n" for text in [*FOREIGN[:3], TEXTS[0]] * 300), encoding="utf-8")
    sampled = re.compile(many.format(r"[78]\d of 100 sampled")).match
    for arguments in (
        ["foreign.txt"],
        ["foreign.txt", "--json"],
        ["foreign.txt", "--labels"],
        ["foreign.txt", "-oo.csv"],
    ):
        assert sampled(run("predict", "mail.bunrui", *arguments).err)
    assert sampled(run("predict", "mail.bunrui", stdin=Path("foreign.txt").read_text("utf-8")).err)
    for name, text in {"a": '["zzz", "cheap"]', "b": '"zzz"', "c": '{"zzz": 2}'}.items():
        Path(f"{name}.jsonl").write_text(f'{{"text": {text}}}\n')
    assert run("predict", "mail.bunrui", "a.jsonl", "b.jsonl", "c.jsonl").err == many.format("2 of 3")


def test_numbers_are_words_where_there_is_nothing_else(run) -> None:
    Path("codes.csv").write_text("text,label\n404 500,bad\n200 201,good\n")
    run("learn", "codes.bunrui", "codes.csv")
    assert run("predict", "codes.bunrui", "--line", "404").err == ""
    assert "no word" in run("predict", "codes.bunrui", "--line", "777").err


def test_an_endless_pipe_is_told_of_unknown_words(start, mail: Path) -> None:
    process = start("predict", "mail.bunrui")
    with patience_with(process):
        process.stdin.write("".join(f"{text}\n" for text in FOREIGN * 25).encode())
        process.stdin.flush()
        assert b"100 of 100 documents have no word that mail.bunrui knows" in process.stderr.readline()
        process.stdin.close()
        assert process.stdout.read().count(b"\n") == 100 and process.wait() == 0


def test_much_standard_input(shell, mail: Path) -> None:
    assert shell("predict", "mail.bunrui", stdin="free pills\nteam\n" * 100_000) == (
        0,
        lines([TEXTS[0], "team"]) * 100_000,
        "",
    )


@pytest.mark.parametrize("arguments", [[], ["-"], ["--json"], ["--format", "csv"], ["--text", "body", "--top", "2"]])
def test_empty_standard_input(run, mail: Path, arguments: list[str]) -> None:
    err = "the standard input is empty: nothing was predicted\n"
    assert run("predict", "mail.bunrui", *arguments, stdin="") == (0, "", err)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
def test_empty_standard_input_into_a_file(run, new: Path, suffix: str) -> None:
    Path(f"out.{suffix}").write_text("of yesterday")
    options = ["--top", "2", "--log-odds", "spam", "-o", f"out.{suffix}"]
    assert run("predict", "mail.bunrui", *options, stdin="").code == 0
    found = table(Path(f"out.{suffix}"))
    assert run("predict", "mail.bunrui", "new.csv", *options).code == 0
    assert found.num_rows == 0 and found.column_names == table(Path(f"out.{suffix}")).column_names


def test_empty_input_and_no_classifier(run) -> None:
    err = "error: there is no classifier x: make one with 'bunrui learn x DATA'\n"
    assert run("predict", "x", "--json", stdin="") == (1, "", err)


def test_an_empty_file(run, mail: Path) -> None:
    Path("a.csv").touch()
    assert run("predict", "mail.bunrui", "a.csv") == (
        1,
        "",
        "error: a.csv: the file is empty: give one with documents\n",
    )


def test_a_line_that_is_no_text(start, mail: Path) -> None:
    process = start("predict", "mail.bunrui", "--line", b"caf\xe9")
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (1, b"")
    assert err == b"error: --line is not valid UTF-8 (character 4): give a file, and its --encoding\n"


def test_standard_input_that_is_no_text(start, mail: Path) -> None:
    process = start("predict", "mail.bunrui")
    out, err = process.communicate(b"fine\n\x83\x65\x83\x58\n", timeout=PATIENCE)
    assert (
        (process.returncode, out) == (1, b"") and err.startswith(b"error: <stdin>, line 2: ") and b"--encoding" in err
    )


def test_top(run, mail: Path, news: Path) -> None:
    assert run("predict", "mail.bunrui", "--line", "pills", "--top", "1").out == "spam\t0.8545\n"
    assert run("predict", "mail.bunrui", "--line", "pills", "--top", "9").out == "spam\t0.8545\tham\t0.1455\n"
    out = run("predict", "news.bunrui", "--line", "goal", "--top", "2").out.split("\t")
    assert out[0] == "sports" and len(out) == 4 and float(out[1]) > float(out[3])


def test_log_odds(run, mail: Path, news: Path) -> None:
    assert run("predict", "mail.bunrui", "--line", "pills", "--log-odds", "spam").out == "spam\t0.8545\t+1.7702\n"
    assert run("predict", "mail.bunrui", "--line", "pills", "--log-odds", "ham").out == "spam\t0.8545\t-1.7702\n"
    found = run("predict", "news.bunrui", "--line", "goal", "--log-odds", "sports", "--against", "science", "--json")
    with bunrui.store.open("news.bunrui") as clf:
        assert json.loads(found.out)["log_odds"] == clf.log_odds(["goal"], positive="sports", negative="science")[0]


@pytest.mark.parametrize(
    ("options", "err"),
    [
        (["--log-odds", "x"], "error: there is no label 'x': the labels are politics, science, sports\n"),
        (["--log-odds", "sports"], "error: there are 3 labels: name the other label with --against\n"),
        (
            ["--log-odds", "sports", "--against", "sports"],
            "error: 'sports' cannot be held against itself: name the other label with --against\n",
        ),
    ],
)
def test_wrong_labels(run, news: Path, options: list[str], err: str) -> None:
    assert run("predict", "news.bunrui", "--line", "goal", *options) == (1, "", err)


def test_other_models(run, mail: Path) -> None:
    (label, share), *_ = expected(["pills"], "multinomial")
    assert run("predict", "mail.bunrui", "--line", "pills", "--model", "multinomial").out == f"{label}\t{share:.4f}\n"
    options = ["--alpha", "2", "--smoothing", "map", "--prior", "uniform"]
    with bunrui.store.open("mail.bunrui") as clf:
        share = clf.with_model(alpha=2.0, smoothing="map", prior="uniform").predict_proba(["pills"]).max()
    assert run("predict", "mail.bunrui", "--line", "pills", *options).out == f"spam\t{share:.4f}\n"
    assert run("predict", "mail.bunrui", "--line", "pills").out == "spam\t0.8545\n", "the file is as it was"


def test_json(run, new: Path) -> None:
    code, out, err = run(
        "predict", "mail.bunrui", "new.csv", "--id", "key", "--json", "--top", "2", "--log-odds", "spam"
    )
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "") and [row.pop("label") for row in rows] == [label for label, _ in expected(TEXTS)]
    assert [row.pop("probability") for row in rows] == [share for _, share in expected(TEXTS)]
    for row in rows:
        shares = list(row.pop("probabilities").values())
        assert len(shares) == 2 and shares == sorted(shares, reverse=True) and row.pop("log_odds")
    assert rows == [
        {"id": "a", "source": "new.csv", "line": 2},
        {"id": "b", "source": "new.csv", "line": 3},
        {"id": "c", "source": "new.csv", "line": 4},
    ]
    out = run("predict", "mail.bunrui", "new.csv", "--json").out
    assert list(json.loads(out.splitlines()[0])) == ["label", "probability", "source", "line"]
    assert json.loads(run("predict", "mail.bunrui", "--line", "pills", "--json").out) == {
        "label": "spam",
        "probability": expected(["pills"])[0][1],
    }


def test_awkward_names(run) -> None:
    labels = ["a\tb", "\x1b[2J\x9b", 'q"\\', "日本\n"]
    rows = [{"text": f"word{k}", "label": label, "key": f'"{label}'} for k, label in enumerate(labels)]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("learn", "a.bunrui", "a.jsonl").code == 0
    out = run("predict", "a.bunrui", "a.jsonl").out
    assert [line.partition("\t")[0] for line in out.split("\n")] == ["a␉b", "␛[2J‹U+009B›", 'q"\\', "日本␊", ""]
    out = run("predict", "a.bunrui", "a.jsonl", "--json", "--id", "key").out
    assert "\x1b" not in out and "\x9b" not in out
    found = [json.loads(line) for line in out.splitlines()]
    assert [(row["label"], row["id"]) for row in found] == [(label, f'"{label}') for label in labels]


def test_spreadsheets_in_and_out(run, mail: Path) -> None:
    table = pyarrow.table({"text": ["=free pills", "lunch"], "label": ["spam", "ham"]})
    with open("new.xlsx", "wb") as sink:
        writer = SheetWriter(sink, table.schema)
        writer.write_table(table)
        writer.close()
    assert run("learn", "mail.bunrui", "new.xlsx").code == 0
    assert run("predict", "mail.bunrui", "new.xlsx", "-o", "labels.xlsx").code == 0
    assert run("predict", "mail.bunrui", "new.xlsx", "-o", "labels.csv").code == 0
    (found,) = read("labels.xlsx", text="label", id="probability", labelled=False)
    same = pyarrow.csv.read_csv("labels.csv").to_pydict()
    assert found["text"].to_pylist() == same["label"]
    assert [float(share) for share in found["id"].to_pylist()] == pytest.approx(same["probability"], rel=1e-14)


# --- usage


@pytest.mark.parametrize(
    ("arguments", "err"),
    [
        (["--line", "a", "new.csv"], "give DATA or --line, not both."),
        (["--line", "a", "--against", "ham"], "--against goes with --log-odds."),
        (
            ["--line", "a", "--json", "-o", "x.csv"],
            "--json writes to stdout: for a file, give --output the suffix .jsonl.",
        ),
        (
            ["--line", "a", "-o", "x.xls"],
            "the name 'x.xls' does not tell the format: give it one of .parquet .csv .tsv .xlsx .arrow .jsonl",
        ),
    ],
)
def test_wrong_usage(run, mail: Path, arguments: list[str], err: str) -> None:
    assert run("predict", "mail.bunrui", *arguments) == (2, "", f"error: {err}\nTry 'bunrui predict --help'.\n")


def test_what_is_read_is_not_written_over(run, mail: Path) -> None:
    Path("new.csv").write_text("text\npills\n")
    _, _, err = run("predict", "mail.bunrui", "new.csv", "-o", "./new.csv")
    assert err.startswith("error: --output would take the place of new.csv, which is read: give another name.\n")
    assert Path("new.csv").read_text() == "text\npills\n"


def test_nothing_to_predict(run, mail: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert run("predict", "mail.bunrui") == (
        2,
        "",
        "error: there is nothing to predict: give DATA, --line TEXT, or text on the standard input.\n"
        "Try 'bunrui predict --help'.\n",
    )


def test_skipped_rows(run, mail: Path) -> None:
    Path("a.jsonl").write_text('{"text": "pills"}\n{"text": 5}\nnothing\n{"text": "pills"}\n')
    code, out, err = run("predict", "mail.bunrui", "a.jsonl", "--skip-bad")
    assert (code, out) == (0, "spam\t0.8545\n" * 2) and err.startswith("skipped 2 bad rows:\n  a.jsonl, line 2: ")
    code, out, err = run("predict", "mail.bunrui", "a.jsonl")
    assert (code, out) == (1, "") and err.startswith("error: a.jsonl, line 2: ")


# --- files


def table(path: Path):
    match path.suffix:
        case ".parquet":
            return pyarrow.parquet.read_table(path)
        case ".arrow":
            return pyarrow.feather.read_table(path)
        case _:
            options = pyarrow.csv.ParseOptions(delimiter="," if path.suffix == ".csv" else "\t")
            return pyarrow.csv.read_csv(path, parse_options=options)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "tsv"])
def test_tables(run, new: Path, suffix: str) -> None:
    out = f"out.{suffix}"
    arguments = ["new.csv", "--id", "key", "--top", "2", "--log-odds", "spam", "--output", out]
    assert run("predict", "mail.bunrui", *arguments) == (0, "", f"predicted 3 documents into {out} in T\n")
    found = table(Path(out))
    assert found.column_names == ["source", "line", "id", "label", "probability", "probabilities", "log_odds"]
    assert found["source"].to_pylist() == ["new.csv"] * 3 and found["line"].to_pylist() == [2, 3, 4]
    assert found["id"].to_pylist() == ["a", "b", "c"]
    assert found["label"].to_pylist() == [label for label, _ in expected(TEXTS)]
    assert found["probability"].to_pylist() == pytest.approx([share for _, share in expected(TEXTS)])
    shares = found["probabilities"].to_pylist()
    shares = [dict(json.loads(row) if isinstance(row, str) else row) for row in shares]
    assert [list(row) for row in shares] == [["spam", "ham"], ["ham", "spam"], ["ham", "spam"]]
    assert found["log_odds"].to_pylist() == pytest.approx([json.loads(line)["log_odds"] for line in odds_lines(run)])
    assert {path.name for path in Path().iterdir()} == {"mail.csv", "mail.bunrui", "new.csv", out}


def odds_lines(run) -> list[str]:
    return run("predict", "mail.bunrui", "new.csv", "--log-odds", "spam", "--json").out.splitlines()


def test_json_file(run, new: Path) -> None:
    assert run("predict", "mail.bunrui", "new.csv", "-o", "out.jsonl").code == 0
    assert Path("out.jsonl").read_text() == run("predict", "mail.bunrui", "new.csv", "--json").out


def test_lines_into_a_file(run, mail: Path) -> None:
    assert run("predict", "mail.bunrui", "--line", "pills", "-o", "out.csv").code == 0
    assert table(Path("out.csv"))["label"].to_pylist() == ["spam"]


def test_no_half_written_file(run, mail: Path) -> None:
    rows = '{"text": "pills and more pills"}\n' * 800_000  # more than one batch
    Path("a.jsonl").write_text(rows + "nothing\n")
    Path("out.csv").write_text("as it was")
    code, out, err = run("predict", "mail.bunrui", "a.jsonl", "-o", "out.csv")
    assert (code, out) == (1, "") and err.startswith("error: a.jsonl, line 800001: ")
    assert Path("out.csv").read_text() == "as it was"
    assert {path.name for path in Path().iterdir()} == {"mail.csv", "mail.bunrui", "a.jsonl", "out.csv"}


@pytest.mark.parametrize(
    ("path", "err"),
    [
        ("folder.csv", "error: folder.csv: this is a folder: name a file in it\n"),
        ("no/out.csv", "error: no/out.csv: there is no folder no: make it, or check the path\n"),
    ],
)
def test_output_that_cannot_be_written(run, mail: Path, path: str, err: str) -> None:
    Path("folder.csv").mkdir()
    assert run("predict", "mail.bunrui", "--line", "a", "-o", path) == (1, "", err)


def test_many_classes_are_scored_in_slices(run, mail: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.csv").write_text("text\n" + "pills\nteam\n" * 50)
    whole = run("predict", "mail.bunrui", "a.csv", "--json").out
    monkeypatch.setattr("bunrui.engines.stream._MOST_SCORES", 6)
    assert run("predict", "mail.bunrui", "a.csv", "--json").out == whole and len(whole.splitlines()) == 100
