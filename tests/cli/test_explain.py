from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import bunrui.store
from tests.support.commands import learn
from tests.support.waiting import PATIENCE


def test_explain(run, mail: Path) -> None:
    code, out, err = run("explain", "mail.bunrui", "free pills at noon")
    assert (code, err) == (0, "")
    assert [line.rstrip() for line in out.splitlines()] == [
        " ham  96.9% against  spam  3.1%",
        "",
        "free pills at noon",
        "",
        "-1.770  ×1  pills",
        "+1.733  ×1  at",
        "+1.733  ×1  at␣noon",
        "+1.733  ×1  noon",
        "+0.000      (before reading)",
        "+3.429      (in all)",
        "not known: free, free␣pills, pills␣at",
    ]


def test_a_mail_is_read_as_predict_reads_it(run, mail: Path) -> None:
    letter = "From: a@b.c\nTo: d@e.f\nSubject: pills\nContent-Transfer-Encoding: base64\n\nY2hlYXAgcGlsbHM=\n"
    predicted = json.loads(run("predict", "mail.bunrui", "--json", stdin=letter).out)
    explained = json.loads(run("explain", "mail.bunrui", "--json", stdin=letter).out)
    assert "cheap pills" in explained["text"]
    assert explained["label"] == predicted["label"]


def test_explain_from_a_pipe(shell, mail: Path) -> None:
    assert shell("explain", "mail.bunrui", stdin="pills").out.startswith(" spam  85.4% against  ham  14.6%")


def test_explain_as_json(run, mail: Path) -> None:
    code, out, err = run("explain", "mail.bunrui", "pills", "--json", "--model", "multinomial")
    with bunrui.store.open("mail.bunrui") as clf:
        expected = json.loads(clf.with_model("multinomial").explain("pills").to_json())
    assert (code, err) == (0, "") and json.loads(out) == expected


def test_explain_another_label(run, news: Path) -> None:
    found = json.loads(
        run("explain", "news.bunrui", "goal", "--label", "science", "--against", "politics", "--json").out
    )
    assert (found["label"], found["against"]) == ("science", "politics")


def test_explain_as_a_page(run, mail: Path) -> None:
    assert run("explain", "mail.bunrui", "<b>pills</b>", "--html", "why.html") == (0, "", "wrote why.html\n")
    page = Path("why.html").read_text()
    assert page.startswith("<!doctype html>") and "pills" in page and "<b>pills" not in page
    assert "<title>Why spam and not ham</title>" in page
    assert "<h1>Why <bdi>spam</bdi> and not <bdi>ham</bdi></h1>" in page
    sides = (("for", "spam", "blue: speaks for it"), ("against", "ham", "orange: speaks for this one instead"))
    for side, label, said in sides:
        assert re.search(rf'class="chip {side}"><bdi>{label}</bdi></b>[^<]*<span class="muted"[^>]*>{said}<', page)
    assert "The values add up to the difference of the scores.</p>" in page
    assert 'http-equiv="Content-Security-Policy"' in page


def test_a_page_of_odd_labels(run) -> None:
    Path("a.csv").write_text("text,label\none,<i>x\n")
    assert run("learn", "a.bunrui", "a.csv").code == 0
    assert run("explain", "a.bunrui", "one", "--html", "why.html").code == 0
    page = Path("why.html").read_text()
    assert "<title>Why &lt;i&gt;x</title>" in page and "<i>" not in page
    assert "The values add up to the score.</p>" in page and 'class="chip against"' not in page


def test_a_file_with_the_name_of_the_text(shell, run, mail: Path) -> None:
    Path("new mail.txt").write_text("cheap pills")
    code, out, err = run("explain", "mail.bunrui", "new mail.txt")
    assert code == 0 and "new mail.txt" in out.splitlines()
    assert err == (
        "'new mail.txt' is explained as a text. What the file of that name holds is explained by: "
        "bunrui explain mail.bunrui < 'new mail.txt'\n"
    )
    assert run("explain", "mail.bunrui", stdin="cheap pills").err == ""


def test_a_text_cannot_move_the_cursor(run, mail: Path) -> None:
    assert "\x1b" not in run("explain", "mail.bunrui", "pills \x1b[2J").out


def test_long_lines_are_not_broken_in_a_pipe(run, mail: Path) -> None:
    text = "free pills " * 50
    assert text.strip() in run("explain", "mail.bunrui", text.strip()).out.splitlines()


@pytest.mark.parametrize(
    ("options", "code", "err"),
    [
        (["pills", "--label", "x"], 1, "error: there is no label 'x': the labels are ham, spam\n"),
        (
            ["pills", "--label", "ham", "--against", "ham"],
            1,
            "error: 'ham' cannot be held against itself: name another label with --against\n",
        ),
        (
            ["pills", "--json", "--html", "x.html"],
            2,
            "error: --json writes to stdout, --html to a file: give one of them.\nTry 'bunrui explain --help'.\n",
        ),
        (["pills", "--html", "no/x.html"], 1, "error: no/x.html: there is no folder no: make it, or check the path\n"),
        (
            ["pills", "--html", "mail.bunrui"],
            2,
            "error: --html writes a page: give a name that ends in .html, not 'mail.bunrui'.\n"
            "Try 'bunrui explain --help'.\n",
        ),
    ],
)
def test_wrong_questions(run, mail: Path, options: list[str], code: int, err: str) -> None:
    assert run("explain", "mail.bunrui", *options) == (code, "", err)


def test_nothing_to_explain(run, mail: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert run("explain", "mail.bunrui") == (
        2,
        "",
        "error: there is nothing to explain: give TEXT, or text on the standard input.\nTry 'bunrui explain --help'.\n",
    )


def test_explain_an_empty_pipe(run, mail: Path) -> None:
    err = (
        "error: the standard input is empty: give TEXT, or text on the standard input.\nTry 'bunrui explain --help'.\n"
    )
    assert run("explain", "mail.bunrui", stdin="") == (2, "", err)


def test_an_argument_that_is_no_utf8(run, mail: Path) -> None:
    err = "is not valid UTF-8 (character 4): convert it with iconv first\n"
    assert run("explain", "mail.bunrui", "caf\udce9") == (1, "", f"error: TEXT {err}")
    assert run("words", "mail.bunrui", "--word", "caf\udce9") == (1, "", f"error: --word {err}")


def test_a_text_that_is_no_utf8(start, mail: Path) -> None:
    process = start("explain", "mail.bunrui")
    out, err = process.communicate(b"\x83\x65", timeout=PATIENCE)
    assert (process.returncode, out) == (1, b"")
    assert err == b"error: <stdin> is not valid UTF-8 (byte 0): convert it with iconv first\n"


# --- words


def test_words_of_all_labels(run, mail: Path) -> None:
    code, out, err = run("words", "mail.bunrui", "--top", "3")
    assert (code, err) == (0, "") and [line.split() for line in out.splitlines()[2:]] == [
        ["ham", "at", "at␣noon", "noon"],
        ["spam", "cheap", "cheap␣pills", "fast"],
    ]
    found = json.loads(run("words", "mail.bunrui", "--json").out)
    assert list(found) == ["ham", "spam"] and len(found["ham"]) == 8 and found["ham"][0]["counts"] == {"ham": 2}


def test_words_of_a_label(run, mail: Path) -> None:
    code, out, err = run("words", "mail.bunrui", "spam", "--top", "2")
    assert (code, err) == (0, "")
    assert out == (
        "word          weight  ham  spam\n"
        "───────────────────────────────\n"
        "cheap        +1.7702    0     1\n"
        "cheap␣pills  +1.7702    0     1\n"
    )


def test_words_of_small_weights_differ(run, tmp_path: Path) -> None:
    learn(run, "small.bunrui", "".join(f"word{k % 9} {'up' if k % 2 else 'down'},{'ab'[k % 2]}\n" for k in range(40)))
    run("set", "small.bunrui", "--model", "multinomial", "--alpha", "1e6")
    lines = run("words", "small.bunrui", "a", "--top", "3").out.splitlines()[2:]
    assert len(lines) == 3 and all(float(line.split()[1]) != 0 for line in lines)


def test_words_of_a_pair(run, mail: Path) -> None:
    found = json.loads(
        run("words", "mail.bunrui", "--positive", "spam", "--negative", "ham", "--top", "1", "--json").out
    )
    with bunrui.store.open("mail.bunrui") as clf:
        expected = clf.words(positive="spam", negative="ham", top=1)
    assert [(row["word"], row["weight"]) for row in found] == [(word.text, word.weight) for word in expected]
    assert run("words", "mail.bunrui", "--positive", "spam", "--top", "1", "--json").out == json.dumps(found) + "\n"


def test_one_word(run, mail: Path) -> None:
    (found,) = json.loads(run("words", "mail.bunrui", "--word", "Pills", "--json").out)
    assert found["word"] == "pills" and found["counts"] == {"spam": 1}


@pytest.mark.parametrize(
    ("options", "code", "err"),
    [
        (["x"], 1, "error: there is no label 'x': the labels are politics, science, sports\n"),
        (["--positive", "sports"], 1, "error: there are 3 labels: name the other label with --negative\n"),
        (
            ["--positive", "sports", "--negative", "sports"],
            1,
            "error: 'sports' cannot be held against itself: name the other label with --negative\n",
        ),
        (
            ["--word", "pills"],
            1,
            "error: the word 'pills' was never learned: 'bunrui words news.bunrui' shows some that were\n",
        ),
        (["--negative", "sports"], 2, "error: --negative goes with --positive.\nTry 'bunrui words --help'.\n"),
        (
            ["sports", "--positive", "sports"],
            2,
            "error: give LABEL, or --positive and --negative, not both.\nTry 'bunrui words --help'.\n",
        ),
    ],
)
def test_wrong_words(run, news: Path, options: list[str], code: int, err: str) -> None:
    assert run("words", "news.bunrui", *options) == (code, "", err)


def test_counts_of_many_labels_are_summed(run) -> None:
    Path("a.csv").write_text("text,label\n" + "".join(f"word w{k},label{k}\n" for k in range(9)))
    run("learn", "a.bunrui", "a.csv")
    assert "in all" in run("words", "a.bunrui", "label1").out


def test_of_many_labels_the_largest_are_shown(run, tmp_path: Path) -> None:
    rows = [f"word{n} common,label{n:02}\n" * (2 if n == 57 else 1) for n in range(60)]
    (tmp_path / "many.csv").write_text("text,label\n" + "".join(rows))
    assert run("learn", "many.bunrui", "many.csv").code == 0
    code, out, err = run("words", "many.bunrui")
    assert code == 0 and err == "10 labels with fewer documents are left out: name one to see its words\n"
    assert "label57" in out and "label48" in out and "label49" not in out
    assert len(json.loads(run("words", "many.bunrui", "--json").out)) == 60
    out = run("info", "many.bunrui").out
    assert "… 10 more with fewer documents: --json has them" in out and "label57" in out and "label58" not in out
    (tmp_path / "test.csv").write_text("text,label\n" + "".join(f"word{n},other{n:03}\n" for n in range(101)))
    out = run("evaluate", "many.bunrui", "test.csv").out
    assert "… 61 more" in out and "\nother099" in out and "\nlabel00" not in out
