"""`bunrui audit`: lists, pages, and files that people edit and give back."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

import bunrui
from bunrui.cli.audit import _table

SPAM = ["cheap pills now", "pills for you", "cheap money now", "win money", "win pills"]
HAM = ["meeting at noon", "see you at noon", "lunch at noon", "the meeting is late", "lunch with you"]


def write(path: str, rows: list[tuple[str, str]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])


@pytest.fixture
def rows(run) -> list[tuple[str, str]]:
    """Ten mails in train.csv; the labels in lines 4 and 9 are wrong."""
    found = [(text, "spam") for text in SPAM] + [(text, "ham") for text in HAM]
    found[2], found[7] = (SPAM[2], "ham"), (HAM[2], "spam")
    write("train.csv", found)
    return found


@pytest.fixture
def file(run, rows: list[tuple[str, str]]) -> str:
    assert run("learn", "mail.bunrui", "train.csv").code == 0
    return "mail.bunrui"


def test_lines(run, rows: list[tuple[str, str]]) -> None:
    code, out, err = run("audit", "train.csv", "--top", "2")
    line = next(line for line in out.splitlines() if "train.csv:4" in line)
    share, given, suggested, place, words, text = line.split("\t")
    assert (code, given, suggested, place, text) == (0, "ham", "spam", "train.csv:4", "cheap money now")
    assert 0 <= float(share) < 0.5 and set(words.split("  ")) & {"cheap", "money", "now"}
    n = int(err.split()[0])
    assert n > 2 and err == f"{n} of 10 documents have a label that is not the likeliest; the first 2 are listed\n"


def test_a_terminal_has_a_header(run, rows: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    write("train.csv", [*rows, (rows[0][0], "ham")])
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    lines = re.sub(r"\x1b\[[\d;]*m", "", run("audit", "train.csv").out).splitlines()
    head = " ".join(lines[:2])
    assert all(name in head for name in ("P(label)", "label", "suggested", "where", "against", "text"))
    assert ["copies", "labels", "where", "text"] in [line.split() for line in lines] and max(map(len, lines)) <= 80


def test_a_narrow_table_cuts_no_words() -> None:
    words = ["が衝", "が衝突", "とな", "めと", "めとな"]
    console = Console(width=80, file=io.StringIO(), force_terminal=False)
    row = ["0.0284", "society", "world", "news.jsonl", "  ".join(words), "高速道路でトラックと乗用車が衝突した。" * 2]
    console.print(_table(("P(label)", "label", "suggested"), [row]))
    shown = console.file.getvalue().split()
    assert [word for word in shown if word in words] == words and shown[-3].endswith("…")


def test_a_classifier(run, file: str) -> None:
    before = Path(file).read_bytes()
    lines = [line.split("\t") for line in run("audit", file).out.splitlines()]
    assert ["ham", "spam", "train.csv"] in [line[1:4] for line in lines]
    assert Path(file).read_bytes() == before


def test_json(run, rows: list[tuple[str, str]]) -> None:
    write("train.csv", [*rows, (rows[0][0], "ham"), ("a new star", "news")])
    code, out, _ = run("audit", "train.csv", "--json")
    known = json.loads(out)
    assert code == 0 and known["documents"] == 12 and known["alone"] == [11]
    (suspect,) = (one for one in known["suspects"] if one["line"] == 4)
    assert (suspect["given"], suspect["suggested"], suspect["row"]) == (["ham"], "spam", 2)
    assert suspect["source"] == "train.csv" and suspect["text"] == "cheap money now"
    assert all(value > 0 for value in suspect["words"].values())
    (conflict,) = known["conflicts"]
    assert conflict["kind"] == "exact" and [one["line"] for one in conflict["documents"]] == [2, 12]


def test_copies_with_different_labels_are_lines_too(run, rows: list[tuple[str, str]]) -> None:
    write("train.csv", [*rows, (rows[0][0], "ham")])
    _, out, err = run("audit", "train.csv", "--top", "1")
    assert out.splitlines()[-1].split("\t") == [
        "exact",
        "spam / ham",
        "",
        "train.csv:2  train.csv:12",
        "",
        "cheap pills now",
    ]
    assert "1 text came several times with different labels\n" in err


def test_ids_and_other_models(run, rows: list[tuple[str, str]]) -> None:
    lines = [json.dumps({"text": text, "label": label, "key": f"k{n}"}) for n, (text, label) in enumerate(rows)]
    Path("train.jsonl").write_text("\n".join(lines))
    for model in ("multinomial", "bernoulli", "nbsvm"):
        code, out, _ = run("audit", "train.jsonl", "--id", "key", "--model", model)
        assert code == 0 and "train.jsonl:3 (k2)" in out


def test_a_page(run, rows: list[tuple[str, str]]) -> None:
    write("train.csv", [*rows, ("cheap <script>pills</script>", "ham"), (rows[0][0], "ham")])
    code, out, err = run("audit", "train.csv", "--html", "look.html")
    page = Path("look.html").read_text(encoding="utf-8")
    assert (code, out) == (0, "") and err.startswith("wrote look.html\n")
    assert page.startswith("<!doctype html>") and page.count("<script>") == 1  # its own
    assert "&lt;script&gt;" in page and "<script>pills" not in page and "Content-Security-Policy" in page
    assert "train.csv:4" in page and "Copies with different labels" in page


def test_a_page_a_table_and_json_at_once(run, rows: list[tuple[str, str]]) -> None:
    write("train.csv", rows)
    code, out, _ = run("audit", "train.csv", "--html", "look.html", "-o", "fixes.csv", "--json")
    assert code == 0 and json.loads(out)["documents"] == len(rows)
    assert Path("look.html").exists() and Path("fixes.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--html", "mail.bunrui"], 2, "--html writes a page: give a name that ends in .html, not 'mail.bunrui'."),
        (["--output", "mail.bunrui"], 2, "--output writes a table to be edited: give a name that ends in .csv"),
        (["--output", "train.csv"], 1, "train.csv: this is there already, and is not replaced: give another name"),
        (["--output", "no/x.csv"], 1, "no/x.csv: there is no folder no: make it, or check the path"),
    ],
)
def test_nothing_is_written_over(run, file: str, arguments: list[str], code: int, message: str) -> None:
    before = {path: path.read_bytes() for path in map(Path, (file, "train.csv"))}
    found = run("audit", file, *arguments)
    assert found.code == code and found.err.startswith(f"error: {message}")
    assert before == {path: path.read_bytes() for path in before}


# --- files that people edit


def edit(path: str, labels: dict[str, str]) -> None:
    """Change the labels of some texts."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["label"] = labels.get(row["text"], row["label"])
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def labels_in(path: str) -> dict[str, list[str]]:
    with bunrui.open(path) as clf:
        return {document.text: document.labels for document in clf.documents()}


def test_write_edit_and_apply(run, file: str, rows: list[tuple[str, str]]) -> None:
    code, out, err = run("audit", file, "--output", "fixes.csv")
    assert (code, out) == (0, "")
    with open("fixes.csv", encoding="utf-8-sig", newline="") as written:
        found = list(csv.DictReader(written))
    told = f"wrote {len(found)} documents into fixes.csv: change the column label where it is wrong, then --apply it\n"
    assert err.startswith(told)
    assert all(row["label"] == row["given"] and len(row["digest"]) == 32 for row in found)
    assert next(row for row in found if row["text"] == "cheap money now")["suggested"] == "spam"

    same = (
        "every label of fixes.csv is the given one: correct the column label where it is wrong, and --apply it again\n"
    )
    assert run("audit", file, "--apply", "fixes.csv") == (0, "", same)
    edit("fixes.csv", {"cheap money now": "spam", "lunch at noon": "ham"})
    assert run("audit", file, "--apply", "fixes.csv") == (
        0,
        "1\tham → spam\n1\tspam → ham\n",
        "relabelled 2 documents of mail.bunrui; 'bunrui undo mail.bunrui' takes that back\n",
    )
    assert labels_in(file) == {text: ["spam"] if text in SPAM else ["ham"] for text, _ in rows}
    with bunrui.open(file) as clf:
        assert [entry.kind for entry in clf.history()] == ["learn", "relabel"]
        assert clf.counts == bunrui.TextClassifier().learn([*SPAM, *HAM], ["spam"] * 5 + ["ham"] * 5).counts

    code, _, err = run("audit", file, "--apply", "fixes.csv")
    assert code == 1 and err.startswith("error: fixes.csv, line ") and "this document has another label than" in err
    run("undo", file)
    assert labels_in(file)["cheap money now"] == ["ham"]


def test_what_spreadsheets_make_of_it(run, file: str) -> None:
    run("audit", file, "-o", "fixes.csv")
    edit("fixes.csv", {"cheap money now": "無料"})
    text = Path("fixes.csv").read_text(encoding="utf-8").replace(",", ";")
    Path("fixes.csv").write_text("\ufeff" + text.replace("\n", "\r\n"), encoding="utf-8", newline="")
    found = run("audit", file, "--apply", "fixes.csv")
    assert found.out == "1\tham → 無料\n"
    assert found.err.startswith("new: no other document had the label 無料\n")


def test_copies_are_changed_together(run, rows: list[tuple[str, str]]) -> None:
    write("train.csv", [*rows, ("cheap money now", "ham"), ("cheap money now", "spam")])
    run("learn", "mail.bunrui", "train.csv")
    run("audit", "mail.bunrui", "-o", "fixes.csv")
    with open("fixes.csv", encoding="utf-8-sig", newline="") as written:
        found = {(row["text"], row["given"]): row["copies"] for row in csv.DictReader(written)}
    assert found["cheap money now", "ham"] == "2" and found["cheap money now", "spam"] == "1"
    edit("fixes.csv", {"cheap money now": " spam"})
    assert run("audit", "mail.bunrui", "--apply", "fixes.csv") == (
        0,
        "2\tham → spam\n",
        "relabelled 2 documents of mail.bunrui; 'bunrui undo mail.bunrui' takes that back\n",
    )


def test_copies_do_not_swap_their_labels(run, rows: list[tuple[str, str]]) -> None:
    write("train.csv", [*rows, ("twice", "ham"), ("twice", "spam")])
    run("learn", "mail.bunrui", "train.csv")
    run("audit", "mail.bunrui", "-o", "fixes.csv")
    lines = Path("fixes.csv").read_text(encoding="utf-8-sig").splitlines()
    twice = [n for n, line in enumerate(lines) if line.endswith(",twice")]
    for n in twice:
        digest, label, rest = lines[n].split(",", 2)
        lines[n] = f"{digest},{'spam' if label == 'ham' else 'ham'},{rest}"
    Path("fixes.csv").write_text("\n".join(lines) + "\n")
    code, _, err = run("audit", "mail.bunrui", "--apply", "fixes.csv")
    assert code == 1 and err.startswith(
        f"error: fixes.csv, lines {twice[0] + 1} and {twice[1] + 1}: these copies of one text "
    )


def test_formulas_are_not_for_spreadsheets(run, rows: list[tuple[str, str]]) -> None:
    write("train.csv", [*rows, ("=cheap pills()", "ham"), ("=cheap pills()", "spam")])
    run("audit", "train.csv", "-o", "fixes.csv")
    with open("fixes.csv", encoding="utf-8-sig", newline="") as written:
        texts = {row["text"] for row in csv.DictReader(written)}
    assert "'=cheap pills()" in texts and "=cheap pills()" not in texts


def test_only_so_many(run, rows: list[tuple[str, str]]) -> None:
    run("audit", "train.csv", "-o", "fixes.csv", "--top", "1")
    assert len(Path("fixes.csv").read_text(encoding="utf-8").splitlines()) == 2


def test_several_labels(run) -> None:
    rows = [(text, "spam;ad") for text in SPAM] + [(text, "ham") for text in HAM]
    rows[2] = (rows[2][0], "ham;work")
    rows[9] = (rows[9][0], "ham;work")
    write("train.csv", rows)
    run("learn", "mail.bunrui", "train.csv", "--separator", ";")
    run("audit", "mail.bunrui", "-o", "fixes.csv")
    edit("fixes.csv", {"cheap money now": '["spam", "ad"]'})
    assert run("audit", "mail.bunrui", "--apply", "fixes.csv").out == "1\tham, work → spam, ad\n"
    assert labels_in("mail.bunrui")["cheap money now"] == ["ad", "spam"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,label\na,b\n", "fixes.csv: there is no column 'digest': give a file that 'bunrui audit' wrote"),
        ("", "fixes.csv: there is no column 'digest': give a file that 'bunrui audit' wrote"),
        ("digest,label,given\nx,a,b\n", "fixes.csv, line 2: this is no row of 'bunrui audit': edit nothing but label"),
        ("digest,label,given\n{d}\n", "fixes.csv, line 2: this is no row of 'bunrui audit': edit nothing but label"),
        ("digest,label,given\n{d},,ham\n", "fixes.csv, line 2: the label is empty: give one, or the one that it had"),
        (
            "digest,label,given\n{d},ham,spam\n{d},news,spam\n",
            "fixes.csv, lines 2 and 3: these are the same text with the same label: change both, or neither",
        ),
        ('digest,label,given\n{d},"ham', "fixes.csv cannot be read as CSV: unexpected end of data"),
        (
            "digest,label,given\n{0},spam,ham\n",
            "fixes.csv, line 2: no document of mail.bunrui has the digest {0}: audit mail.bunrui again",
        ),
        (
            "digest,label,given\n{d},spam,news\n",
            "fixes.csv, line 2: this document has another label than 'news' now: audit mail.bunrui again",
        ),
    ],
)
def test_files_that_cannot_be_applied(run, file: str, content: str, message: str) -> None:
    with bunrui.open(file) as clf:
        digest = next(document.digest for document in clf.documents())
    before = labels_in(file)
    content, message = (text.replace("{d}", digest).replace("{0}", "0" * 32) for text in (content, message))
    Path("fixes.csv").write_text(content)
    assert run("audit", file, "--apply", "fixes.csv") == (1, "", f"error: {message}\n")
    assert labels_in(file) == before


def test_bytes_that_are_no_text(run, file: str) -> None:
    Path("fixes.csv").write_bytes(b"digest,label,given\n\xff\xfe,a,b\n")
    code, _, err = run("audit", file, "--apply", "fixes.csv")
    assert code == 1 and err == "error: fixes.csv is not valid UTF-8 (byte 19): save it as UTF-8\n"
    code, _, err = run("audit", file, "--apply", "no.csv")
    assert (code, err) == (1, "error: no.csv: there is no such file or folder: check the path\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train.csv", "--apply", "x"], "--apply changes one classifier, and no other files: correct DATA itself."),
        (
            ["mail.bunrui", "train.csv"],
            "mail.bunrui is a classifier, and its own documents are read: give it, or DATA, not both.",
        ),
        (["mail.bunrui", "--apply", "x", "--json"], "--apply goes without --top, --json, --html and --output."),
    ],
)
def test_wrong_usage(run, file: str, arguments: list[str], message: str) -> None:
    assert run("audit", *arguments) == (2, "", f"error: {message}\nTry 'bunrui audit --help'.\n")


def test_files_that_keep_no_texts(run, rows: list[tuple[str, str]]) -> None:
    run("learn", "small.bunrui", "train.csv", "--keep", "digests")
    code, out, err = run("audit", "small.bunrui")
    assert (code, out) == (1, "") and err.startswith("error: small.bunrui keeps digests of its documents")


def test_nothing_suspicious(run) -> None:
    write("train.csv", [("pills", "spam"), ("pills", "spam"), ("noon", "ham"), ("noon", "ham")])
    assert run("audit", "train.csv") == (0, "", "0 of 4 documents have a label that is not the likeliest\n")
