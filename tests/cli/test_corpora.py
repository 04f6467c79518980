"""Corpora as people have them, through the command line: mail, encodings, compressed files, folders, bad rows."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import mailbox
import re
import tarfile
from collections.abc import Callable, Iterable
from email.header import Header
from email.message import EmailMessage, Message
from email.mime.text import MIMEText
from pathlib import Path

import pyarrow as pa
import pytest

import bunrui
from bunrui import AnalyzerSpec, TextClassifier
from bunrui.counts import Counts

Pairs = list[tuple[str, str]]


def counts(file: str) -> Counts:
    with bunrui.open(file, read_only=True) as clf:
        return clf.counts


def learned(pairs: Iterable[tuple[str, object]], analyzer: str = "universal") -> Counts:
    """What the same documents are in memory."""
    labels, texts = zip(*pairs, strict=True)
    return TextClassifier(analyzer=AnalyzerSpec(name=analyzer)).learn(list(texts), list(labels)).counts


def csv_of(pairs: Pairs) -> str:
    return "text,label\n" + "".join('"{}",{}\n'.format(text.replace('"', '""'), label) for label, text in pairs)


def jsonl_of(pairs: Pairs) -> str:
    rows = ({"label": label, "text": text} for label, text in pairs)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


WRITTEN: dict[str, Callable[[Pairs], str]] = {"csv": csv_of, "jsonl": jsonl_of}


# --- mail


def encoded(subject: str, body: str, charset: str, number: int) -> Message:
    """A mail as old programs write it: subject and body in the charset of the country."""
    mail = MIMEText(body, "plain", charset)
    mail["Subject"] = Header(subject, charset)
    mail["From"], mail["To"], mail["Message-ID"] = "a@example.org", "b@example.org", f"<{number}@example.org>"
    return mail


def modern(subject: str, number: int) -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"] = subject
    mail["From"], mail["To"], mail["Message-ID"] = "a@example.org", "b@example.org", f"<{number}@example.org>"
    return mail


def page(subject: str, body: str, charset: str, number: int) -> Message:
    """A mail that is HTML alone."""
    mail = modern(subject, number)
    style = "<style>p {color: hiddenword}</style>"
    mail.set_content(f"<html>{style}<p>{body}</p></html>", subtype="html", charset=charset)
    return mail


def both(subject: str, plain: str, number: int) -> Message:
    """A mail with plain text, HTML beside it and a file attached."""
    mail = modern(subject, number)
    mail.set_content(plain)
    mail.add_alternative("<p>hiddenword</p>", subtype="html")
    mail.add_attachment("hiddenword", filename="notes.txt")
    mail.add_attachment(b"\x00\xff" * 1000, maintype="image", subtype="png", filename="a.png")
    return mail


SPAM = [
    (encoded("当選のお知らせ", "無料で現金が当たる", "iso-2022-jp", 1), "当選のお知らせ", "無料で現金が当たる"),
    (page("Win", "免费赢取大奖", "gb2312", 2), "Win", "免费赢取大奖"),
    (both("Günstige Pillen €", "From now on: cheap pills", 3), "Günstige Pillen €", "From now on: cheap pills"),
]
HAM = [
    (encoded("打ち合わせ", "明日の会議は十時です", "euc-jp", 4), "打ち合わせ", "明日の会議は十時です"),
    (encoded("Réunion", "déjeuner à midi", "iso-8859-1", 5), "Réunion", "déjeuner à midi"),
    (both("Lunch", "at noon\n\nFrom the team", 6), "Lunch", "at noon\n\nFrom the team"),
]
MAIL = [
    (label, f"{subject}\na@example.org\nb@example.org\n\n{body}\n")
    for label, mails in (("spam", SPAM), ("ham", HAM))
    for _, subject, body in mails
]


def write_mbox(path: Path, mails: list[Message]) -> str:
    box = mailbox.mbox(path.with_suffix(".mbox"))
    for mail in mails:
        box.add(mail)
    box.close()
    return f"{path.name}.mbox"


def write_maildir(path: Path, mails: list[Message]) -> str:
    box = mailbox.Maildir(path)
    for mail in mails:
        box.add(mail)
    return path.name


def write_eml(path: Path, mails: list[Message]) -> str:
    path.mkdir()
    for number, mail in enumerate(mails):
        (path / f"{number}.eml").write_bytes(mail.as_bytes())
    return path.name


@pytest.mark.parametrize("write", [write_mbox, write_maildir, write_eml])
def test_mail(run, tmp_path: Path, write: Callable[[Path, list[Message]], str]) -> None:
    spam = write(tmp_path / "junk", [mail for mail, *_ in SPAM])
    ham = write(tmp_path / "inbox", [mail for mail, *_ in HAM])
    assert run("learn", "a.bunrui", spam, "--as", "spam").err == "learned 3 documents of 1 label into a.bunrui in T\n"
    assert run("learn", "a.bunrui", ham, "--as", "ham").err == "learned 3 documents of 1 label into a.bunrui in T\n"
    assert counts("a.bunrui") == learned(MAIL)
    assert run("words", "a.bunrui", "--word", "hiddenword").code == 1

    code, out, _ = run("predict", "a.bunrui", spam, ham, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    found = {row["id"]: row["label"] for row in rows}
    assert code == 0 and found == {f"<{n}@example.org>": "spam" if n <= 3 else "ham" for n in range(1, 7)}

    assert run("unlearn", "a.bunrui", spam, "--as", "ham").code == 1, "learned as spam"
    assert run("unlearn", "a.bunrui", spam, "--as", "spam").code == 0
    assert counts("a.bunrui") == learned(MAIL[3:])
    assert run("unlearn", "a.bunrui", ham, "--as", "ham").code == 0
    left = counts("a.bunrui")
    assert (left.n_docs, left.n_features, left.n_cells, left.live_labels) == (0, 0, 0, [])


def test_mail_gets_its_label_from_the_folder(run, tmp_path: Path) -> None:
    for write in (write_mbox, write_maildir):
        write(tmp_path / "spam", [mail for mail, *_ in SPAM])
        write(tmp_path / "ham", [mail for mail, *_ in HAM])
    for file, sources in (("mbox.bunrui", ["spam.mbox", "ham.mbox"]), ("maildir.bunrui", ["spam", "ham"])):
        assert run("learn", file, *sources) == (
            0,
            "",
            f"learned 6 documents of 2 labels into {file} in T\n"
            "labels after the names of mailboxes or folders: ham, spam; --as gives another\n",
        )
    assert counts("mbox.bunrui") == counts("maildir.bunrui") == learned(MAIL)


# --- encodings

# In cp932 and big5 the second byte of 表 ソ 能 功 許 is a backslash, of others a brace or a bar.
JAPANESE = [
    ("映画", "表示された「ソフト」の能力に驚いた。ポスターも良い\n"),
    ("家電", "新しい冷蔵庫は静かで、電気代が安い。予約は十二月から"),
    ("映画", "暴力の場面が多すぎて、途中で帰りたくなった。ＡＢＣ①"),
]
SIMPLIFIED = [
    ("体育", "昨天的比赛非常精彩，主队在最后一分钟进球获胜"),
    ("财经", "股市今天大幅上涨，投资者对经济前景充满信心"),
    ("体育", "教练对队员们的表现表示满意，下周将继续训练"),
]
TRADITIONAL = [
    ("體育", "昨天的比賽非常精彩，主隊在最後一分鐘進球獲勝，成功晉級"),
    ("財經", "股市今天大幅上漲，投資者對經濟前景充滿信心，許多人買進"),
]
ENCODED = [
    *((JAPANESE, name) for name in ("cp932", "utf-16")),
    ([(label, text.replace("①", "")) for label, text in JAPANESE], "euc-jp"),
    ([(label, text.replace("①", "")) for label, text in JAPANESE], "iso-2022-jp"),
    *((SIMPLIFIED, name) for name in ("gb18030", "gb2312", "utf-8-sig")),
    *((TRADITIONAL, name) for name in ("big5", "gb18030")),
]


@pytest.mark.parametrize("suffix", WRITTEN)
@pytest.mark.parametrize(("pairs", "encoding"), ENCODED, ids=[f"{p[0][0]}-{name}" for p, name in ENCODED])
def test_encodings(run, pairs: Pairs, encoding: str, suffix: str) -> None:
    text = WRITTEN[suffix](pairs)
    Path(f"a.{suffix}").write_bytes(text.encode())
    Path(f"b.{suffix}").write_bytes(text.encode(encoding))
    assert run("learn", "a.bunrui", f"a.{suffix}").code == 0
    assert run("learn", "b.bunrui", f"b.{suffix}", "--encoding", encoding).code == 0
    assert counts("a.bunrui") == counts("b.bunrui") == learned(pairs)
    asked = run("predict", "a.bunrui", f"a.{suffix}", "--json").out
    again = run("predict", "b.bunrui", f"b.{suffix}", "--encoding", encoding, "--json").out
    assert again.replace(f"b.{suffix}", f"a.{suffix}") == asked


@pytest.mark.parametrize("suffix", WRITTEN)
@pytest.mark.parametrize(
    ("pairs", "encoding"),
    [(JAPANESE, "cp932"), (ENCODED[2][0], "euc-jp"), (SIMPLIFIED, "gb18030"), (TRADITIONAL, "big5")],
    ids=["cp932", "euc-jp", "gb18030", "big5"],
)
def test_the_error_names_an_encoding_that_works(run, pairs: Pairs, encoding: str, suffix: str) -> None:
    name = f"a.{suffix}"
    Path(name).write_bytes(WRITTEN[suffix](pairs).encode(encoding))
    code, out, err = run("learn", "a.bunrui", name)
    assert (code, out) == (1, "") and not Path("a.bunrui").exists()
    line = 2 if suffix == "csv" else 1
    found = re.match(rf"error: {re.escape(name)}, line {line}: .* Try --encoding ([\w-]+), which reads them as ", err)
    assert found, err
    assert run("learn", "a.bunrui", name, "--encoding", found[1]).code == 0
    assert counts("a.bunrui") == learned(pairs)


@pytest.mark.parametrize("suffix", WRITTEN)
def test_one_row_in_another_encoding(run, suffix: str) -> None:
    name, good, bad = f"a.{suffix}", JAPANESE * 100, [("x", "Schöne Grüße aus München")]
    row = WRITTEN[suffix](bad).encode("cp1252").splitlines(keepends=True)[-1]
    Path(name).write_bytes(WRITTEN[suffix](good).encode() + row)
    code, out, err = run("learn", "a.bunrui", name, "--encoding", "auto")
    assert (code, out) == (1, "") and re.match(
        rf"error: {re.escape(name)}, line \d+: the bytes f6 6e 65 20 are not", err
    )
    assert not Path("a.bunrui").exists()
    code, _, err = run("learn", "a.bunrui", name, "--encoding", "auto", "--skip-bad")
    assert code == 0 and "skipped 1 bad row:\n" in err and "read as" not in err
    assert counts("a.bunrui") == learned(good)


def test_an_encoding_that_cannot_be_found_out(run) -> None:
    Path("a.csv").write_bytes("text,label\nСегодня хорошая погода,x\n".encode("koi8-r"))
    assert run("learn", "a.bunrui", "a.csv", "--encoding", "auto") == (
        1,
        "",
        "error: a.csv, line 2: the bytes f3 c5 c7 cf are not valid utf-8. No usual encoding fits: "
        "name it with --encoding if this is text\n",
    )


def test_utf16_without_a_mark_is_found_out(run) -> None:
    for name, encoding in (("a", "utf-8"), ("b", "utf-16-le")):
        Path(f"{name}.csv").write_text("text,label\nnice work,good\ntoo loud,bad\n", encoding=encoding)
        assert run("learn", f"{name}.bunrui", f"{name}.csv", "--encoding", "auto").code == 0
    assert counts("a.bunrui") == counts("b.bunrui")


def test_utf16_without_a_mark(run) -> None:
    Path("a.csv").write_text("text,label\none,x\n")
    code, out, err = run("learn", "a.bunrui", "a.csv", "--encoding", "utf-16")
    assert (code, out) == (1, "")
    assert err in (
        "error: a.csv, line 1: this is not utf-16: UTF-16 stream does not start with BOM\n",
        # of Python 3.13
        "error: a.csv, line 1: the bytes 74 65 78 74 are not valid utf-16. Try --encoding utf-8, which reads them as "
        "'text,label'\n",
    )
    assert not Path("a.bunrui").exists()


# --- files


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


COMPRESSED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_compressed(run, suffix: str) -> None:
    compress = COMPRESSED[suffix]
    Path(f"a.jsonl.{suffix}").write_bytes(compress(jsonl_of(JAPANESE).encode()))
    Path(f"b.csv.{suffix}").write_bytes(compress(csv_of(SIMPLIFIED).encode("gb18030")))
    assert run("learn", "a.bunrui", f"a.jsonl.{suffix}").code == 0
    assert run("learn", "a.bunrui", f"b.csv.{suffix}", "--encoding", "gb18030").code == 0
    assert counts("a.bunrui") == learned(JAPANESE + SIMPLIFIED)
    cut = Path(f"a.jsonl.{suffix}").read_bytes()[:-9]
    Path(f"cut.jsonl.{suffix}").write_bytes(cut)
    code, _, err = run("learn", "b.bunrui", f"cut.jsonl.{suffix}")
    assert code == 1 and err.startswith(f"error: cut.jsonl.{suffix}: this is damaged or cut short")
    assert not Path("b.bunrui").exists()


def test_fasttext(run) -> None:
    Path("a.txt").write_text("__label__spam cheap pills\n__label__ham __label__news noon 正午\n")
    assert run("learn", "a.bunrui", "a.txt").code == 0
    assert (
        counts("a.bunrui") == TextClassifier().learn(["cheap pills", "noon 正午"], [["spam"], ["ham", "news"]]).counts
    )


@pytest.mark.parametrize("suffix", WRITTEN)
def test_standard_input(run, suffix: str) -> None:
    done = run("learn", "a.bunrui", "-", stdin=WRITTEN[suffix](JAPANESE))
    assert done == (0, "", "learned 3 documents of 2 labels into a.bunrui in T\n")
    assert counts("a.bunrui") == learned(JAPANESE)
    done = run("predict", "a.bunrui", "--json", stdin=WRITTEN[suffix](JAPANESE))
    assert [json.loads(line)["label"] for line in done.out.splitlines()] == ["映画", "家電", "映画"]


def test_folder_for_each_class(run) -> None:
    for number, (label, text) in enumerate(JAPANESE):
        Path("data", label, "2012").mkdir(parents=True, exist_ok=True)
        Path("data", label, "2012", f"{number}.txt").write_bytes(text.encode("cp932"))
    assert run("learn", "a.bunrui", "data", "--encoding", "cp932").code == 0
    assert counts("a.bunrui") == learned(JAPANESE)
    rows = [
        json.loads(line)
        for line in run("predict", "a.bunrui", "data", "--encoding", "cp932", "--json").out.split("\n")[:-1]
    ]
    assert {row["id"]: row["label"] for row in rows} == {
        f"{label}/2012/{n}.txt": label for n, (label, _) in enumerate(JAPANESE)
    }


def test_tokens_and_counts(run) -> None:
    documents = [("x", ["New York", "東京", "New York"]), ("y", ["Paris", ""])]
    tokens = [{"label": label, "text": words} for label, words in documents]
    objects = [{"label": label, "text": {word: words.count(word) for word in words}} for label, words in documents]
    Path("tokens.jsonl").write_text("".join(json.dumps(row) + "\n" for row in tokens))
    Path("counts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in objects))
    assert run("learn", "tokens.bunrui", "tokens.jsonl", "--keep", "nothing").code == 0
    assert run("learn", "counts.bunrui", "counts.jsonl").code == 0
    assert counts("tokens.bunrui") == counts("counts.bunrui") == learned(documents)
    assert run("predict", "tokens.bunrui", "counts.jsonl").out == run("predict", "counts.bunrui", "tokens.jsonl").out
    assert run("unlearn", "tokens.bunrui", "counts.jsonl").code == 0
    assert run("unlearn", "counts.bunrui", "counts.jsonl").code == 0
    assert counts("tokens.bunrui").n_features == counts("counts.bunrui").n_features == 0


# --- bad rows

GOOD = [("spam", "cheap pills 💊👍🏽"), ("ham", ""), ("ham", "with \0 in it"), ("ham", "正午")]
BAD = {
    "encoding": (
        b'{"label": "ham", "text": "caf\xe9 noir"}',
        "the bytes e9 20 6e 6f are not valid utf-8. ",
    ),
    "label": (b'{"text": "no label"}', "there is no column 'label', only 'text': choose another with "),
    "empty-label": (b'{"label": "", "text": "x"}', "the label is empty: give it a name, or leave the row out"),
    "null-label": (b'{"label": null, "text": "x"}', "the label is missing"),
    "nul-in-label": (b'{"label": "a\\u0000", "text": "x"}', "the label "),
    "null-text": (b'{"label": "ham", "text": null}', "the text is missing (null)"),
    "surrogate": (
        b'{"label": "ham", "text": "\\ud83d"}',
        "the text has \\ud83d, half of a character, at character 1: ",
    ),
    "raw-nul": (b'{"label": "ham", "text": "a\0b"}', "this is not JSON: "),
    "cut": (b'{"label": "ham", "te', "this is not JSON: "),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_row(run, kind: str) -> None:
    row, what = BAD[kind]
    Path("a.jsonl").write_bytes(jsonl_of(GOOD).encode() + b"\n" + row + b"\n" + jsonl_of(GOOD).encode())
    code, out, err = run("learn", "a.bunrui", "a.jsonl")
    assert (code, out) == (1, "") and err.startswith(f"error: a.jsonl, line {len(GOOD) + 2}: {what}")
    assert not Path("a.bunrui").exists()
    code, out, err = run("learn", "a.bunrui", "a.jsonl", "--skip-bad")
    said, skipped, which = err.splitlines()[0], err.splitlines()[-2], err.splitlines()[-1]
    assert (code, out, said) == (0, "", "learned 8 documents of 2 labels into a.bunrui in T")
    assert skipped == "skipped 1 bad row:" and which.startswith(f"  a.jsonl, line {len(GOOD) + 2}: {what}")
    assert counts("a.bunrui") == learned(GOOD * 2)


def test_all_bad_rows_are_skipped(run) -> None:
    rows = b"".join(row + b"\n" for row, _ in BAD.values())
    Path("a.jsonl").write_bytes(rows + jsonl_of(GOOD).encode() + rows)
    code, _, err = run("learn", "a.bunrui", "a.jsonl", "--skip-bad")
    assert code == 0 and f"\nskipped {2 * len(BAD)} bad rows:\n  a.jsonl, line 1: " in err
    assert counts("a.bunrui") == learned(GOOD)
    assert run("predict", "a.bunrui", "a.jsonl", "--skip-bad", "--json").out.count('"line": ') >= len(GOOD)


def test_bad_records(run) -> None:
    good = csv_of([("spam", 'cheap "pills", 💊\nnow'), ("ham", "")]).encode()
    Path("a.csv").write_bytes(good + b"caf\xe9 noir,ham\n" + b"no label\n" + b"noon,ham\n")
    code, _, err = run("learn", "a.bunrui", "a.csv")
    assert code == 1 and err.startswith(
        "error: a.csv, line 5: the bytes e9 20 6e 6f are not valid utf-8. Try --encoding "
    )
    assert not Path("a.bunrui").exists()
    code, _, err = run("learn", "a.bunrui", "a.csv", "--skip-bad")
    assert (
        code == 0 and "skipped 2 bad rows:\n  a.csv, line 5: " in err and "\n  a.csv, line 6: 2 columns expected" in err
    )
    assert counts("a.bunrui") == learned([("spam", 'cheap "pills", 💊\nnow'), ("ham", ""), ("ham", "noon")])


@pytest.mark.slow
def test_a_document_of_100_megabytes(run) -> None:
    text = ("cheap pills now " * 7 + "無料です ") * 900_000
    assert len(text.encode()) > 100 << 20
    Path("a.jsonl").write_text(f'{{"label": "ham", "text": "noon"}}\n{{"label": "spam", "text": "{text}"}}\n')
    assert run("learn", "a.bunrui", "a.jsonl").code == 0
    found = counts("a.bunrui")
    assert found.n_docs == 2 and found == learned([("ham", "noon"), ("spam", text)])
    rows = [json.loads(line) for line in run("predict", "a.bunrui", "a.jsonl", "--json").out.splitlines()]
    assert [(row["label"], row["line"]) for row in rows] == [("ham", 1), ("spam", 2)]
    assert run("unlearn", "a.bunrui", "a.jsonl").code == 0
    assert counts("a.bunrui").n_features == 0


# --- public corpora


@pytest.mark.slow
@pytest.mark.data
def test_livedoor(run, data_folder: Path, tmp_path: Path) -> None:
    """Every fifth article of each class is held out."""
    with tarfile.open(data_folder / "livedoor" / "livedoor.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    leave_out = [option for name in ("LICENSE.txt", "README.*", "CHANGES.*") for option in ("--exclude", name)]
    for folder in Path("text").iterdir():
        if folder.is_dir():
            held_out = Path("test", folder.name)
            held_out.mkdir(parents=True)
            for path in sorted(folder.glob("*-*.txt"))[::5]:
                path.rename(held_out / path.name)
    code, _, err = run("learn", "a.bunrui", "text")
    assert code == 1 and "stands in no folder of a class" in err
    assert run("learn", "a.bunrui", "text", *leave_out).code == 0
    code, out, _ = run("evaluate", "a.bunrui", "test", "--json")
    metrics = json.loads(out)
    known = counts("a.bunrui")
    assert (code, known.n_docs + metrics["n"], len(known.labels)) == (0, 7367, 9)
    assert metrics["accuracy"] >= 0.9


@pytest.mark.data
@pytest.mark.slow  # 27,716 mails; other corpora are learned and evaluated in other tests
def test_enron(run, data_folder: Path) -> None:
    """Five users are learned, the sixth is asked."""
    users = [str(data_folder / "enron_spam" / f"enron{user}.parquet") for user in range(1, 7)]
    assert run("learn", "a.bunrui", *users[:5], "--keep", "nothing").code == 0
    assert counts("a.bunrui").n_docs == 27_716
    code, out, _ = run("evaluate", "a.bunrui", users[5], "--json")
    metrics = json.loads(out)
    assert code == 0 and metrics["n"] == 6000
    assert metrics.keys() >= {
        "n",
        "accuracy",
        "micro",
        "macro",
        "per_class",
        "overall_accuracy",
        "confusion",
        "log_loss",
    }
    assert metrics["macro"].keys() == {"precision", "recall", "f1", "f1_of_means"}
    assert {(row["label"], row["support"]) for row in metrics["per_class"]} == {("ham", 1500), ("spam", 4500)}
    right = sum(metrics["confusion"]["matrix"][k][k] for k in (0, 1))
    assert right / 6000 == metrics["accuracy"] >= 0.98
