"""Mail: messages as they should be, and as they are."""

from __future__ import annotations

import base64
import contextlib
import mailbox
import quopri
import time
from email.header import Header
from email.message import EmailMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui.documents import read
from bunrui.documents.mail import html_to_text, parse_mail
from bunrui.errors import DataError
from tests.documents.test_reader import rows


def plain(body: str = "Hello", **headers: str) -> EmailMessage:
    message = EmailMessage()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(body)
    return message


# --- one message


def test_headers_and_body() -> None:
    message = plain("Bonjour\n", Subject="Été", From="Renée <r@example.org>", To="b@example.org", Message_ID="<1@x>")
    mail = parse_mail(message.as_bytes())
    assert mail == ("Été\nRenée <r@example.org>\nb@example.org\n\nBonjour\n", "<1@x>")


@pytest.mark.parametrize("charset", ["utf-8", "iso-2022-jp", "shift_jis", "euc-jp", "gb18030"])
@pytest.mark.parametrize("transfer", ["base64", "quoted-printable"])
def test_charsets(charset: str, transfer: str) -> None:
    subject = Header("会議の件 続き", charset).encode()
    body = "明日の会議\n".encode(charset)
    encode = base64.encodebytes if transfer == "base64" else quopri.encodestring
    head = f"Subject: {subject}\nContent-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: {transfer}\n\n"
    assert parse_mail(head.encode() + encode(body)).text == "会議の件 続き\n\n明日の会議\n"


def test_plain_part_before_html_and_attachments() -> None:
    message = plain("the text")
    message.add_alternative("<p>the page</p>", subtype="html")
    message.add_attachment("not shown", filename="a.txt")
    message.add_attachment(b"\0\1", maintype="application", subtype="octet-stream")
    inner = plain("forwarded", Subject="inner")
    message.add_attachment(inner)
    assert parse_mail(message.as_bytes()).text.split() == ["the", "text"]


def test_html_where_there_is_no_plain_part() -> None:
    message = MIMEMultipart("alternative")
    message.attach(MIMEText(" \n", "plain", "utf-8"))
    message.attach(MIMEText("<style>x</style><p>caf&eacute; <b>now</b></p>", "html", "utf-8"))
    assert parse_mail(message.as_bytes()).text.split() == ["café", "now"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"Subject: caf\xe9\n\nna\xefve\n", "café\n\nnaïve\n"),  # no charset, not UTF-8
        ("Subject: 日本\n\n本文\n".encode(), "日本\n\n本文\n"),
        (b"Subject: =?utf-8?b?5pel5pys?= and =?x-unknown?q?caf=C3=A9?=\n\n", "日本 and café\n\n"),
        (b"Subject: =?utf-8?b?5pel5?=\n\nx", "=?utf-8?b?5pel5?=\n\nx"),
        (b"Subject: =?utf-8?q?=E6=97?= =?utf-8?q?=A5?=\n\nx", "日\n\nx"),
        (b"Subject: caf\xc3\xa9 =?utf-8?q?=E6=97=A5?=\n\nx", "café 日\n\nx"),
        (b"Subject: folded\n  line\nsubject: second\n\nx", "folded line\n\nx"),
        (b"no headers at all\n\nbody", "\nno headers at all\n\nbody"),
        (b"Content-Type: text/plain; charset=klingon\n\ncaf\xc3\xa9", "\ncafé"),
        (b"Content-Type: text/plain; charset=utf-8\n\ncaf\xe9", "\ncafé"),
        (b"Content-Type: text/plain; charset=gb2312\n\n" + "朱镕基".encode("gb18030"), "\n朱镕基"),
        (b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\naGk!!", "\nhi"),
        (b"Content-Type: multipart/mixed\n\nno boundary", ""),
        (b'Content-Type: multipart/mixed; boundary="b"\n\n--b\n\nopen', "\nopen"),
        (b"Content-Type: ;;;=\n\nx", "\nx"),
        (b"Content-Type: image/png\n\nx", ""),
        (b"", "\n"),
    ],
)
def test_broken_mail(data: bytes, text: str) -> None:
    assert parse_mail(data, "latin-1").text.strip("\n") == text.strip("\n")


@pytest.mark.parametrize("encoding", ["utf-8", "cp932", "euc-jp", "iso-2022-jp"])
def test_a_charset_that_is_found_out(encoding: str) -> None:
    data = "Subject: 送料はいくらですか\n\n商品が壊れていました\n".encode(encoding)
    assert parse_mail(data, "auto").text == "送料はいくらですか\n\n商品が壊れていました\n"


def test_a_charset_that_cannot_be_found_out() -> None:
    assert parse_mail("Subject: x\n\nIt’s a café\n".encode("cp1252"), "auto").text == "x\n\nIt’s a café\n"
    assert "\ufffd" in parse_mail("Subject: x\n\nПривет, мир\n".encode("koi8-r"), "auto").text


def test_bytes_that_nothing_decodes() -> None:
    assert parse_mail(b"Content-Type: text/plain; charset=utf-8\n\ncaf\xe9 x").text == "\ncaf\ufffd x"
    assert parse_mail(b"Content-Type: text/plain; charset=klingon\n\ncaf\xe9 x").text == "\ncaf\ufffd x"


def test_nesting() -> None:
    deep = b"".join(b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n) for n in range(5000))
    with pytest.raises(DataError, match=r"^the mail has parts nested too deeply: leave it out$"):
        parse_mail(deep)


PARTS = [
    b"Subject:",
    b"Content-Type:",
    b" multipart/mixed; boundary=b",
    b"text/html; charset=",
    b"\n",
    b"--b",
    b"=?utf-8?b?",
]


@given(st.lists(st.sampled_from([*PARTS, b"?=", b"\xff", b"<!--", b"\0", b"''*0="]), max_size=20))
def test_any_mail(parts: list[bytes]) -> None:
    with contextlib.suppress(DataError):
        text = parse_mail(b"".join(parts)).text
        assert text.encode().decode() == text


# --- HTML


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("a<br>b", "a\nb"),
        ("<p class='x'>a</p><div>b</div>", "\na\n\nb\n"),
        ("<b>bo</b>ld", "bold"),
        ("a<script>if (a < b) {}</script>b<STYLE>x</Style >c", "abc"),
        ("a<script>never closed", "a"),
        ("a <!-- <p> --> b", "a  b"),
        ("1 < 2 & 3 &gt; 2 &#26085; &#x672c; &nbsp;", "1 < 2 & 3 > 2 日 本 \xa0"),
        ("a <b never closed", "a <b never closed"),
        ("a <!-- never <p>closed", "a <!-- never <p>closed"),
        ("&#99999999999999999999999;", "\ufffd"),
        ("<!DOCTYPE html><?xml x?>a", "a"),
        ("&lt;b&gt;", "<b>"),
        # Files know mails by digests of this text, so that none of them can be unlearned once it changes.
        ("<html><head><title>T</title></head>\n<body>a<br/>b <a href='x>y'>c</a></body></html>", "\nT\n\na\nb y'>c"),
    ],
)
def test_html(markup: str, text: str) -> None:
    assert html_to_text(markup) == text


@pytest.mark.parametrize("part", ["<", "<a ", "<!--", "<!-- -->", "<script>", "<script></script>", "&", "&#1", "<a '"])
def test_html_takes_linear_time(part: str) -> None:
    started = time.process_time()
    html_to_text(part * (400_000 // len(part)))
    assert time.process_time() - started < 10  # quadratic takes minutes


# --- mailboxes

MESSAGES = [
    plain("From here on\nFrom me\n\nFrom you at 10:15\n> quoted\n", Subject="one", Message_ID="<1@x>"),
    plain("二番目\n", Subject="日本語の件名"),
    plain("three\n"),
]
TEXTS = ["one\n\nFrom here on\nFrom me\n\nFrom you at 10:15\n> quoted\n", "日本語の件名\n\n二番目\n", "\nthree\n"]


def fill(box: mailbox.Mailbox) -> None:  # type: ignore[type-arg]
    for message in MESSAGES:
        box.add(message)
    box.flush()
    box.close()


@pytest.mark.parametrize("batch_bytes", [1, 100, 1 << 20])
def test_mbox(tmp_path: Path, batch_bytes: int) -> None:
    path = tmp_path / "spam.mbox"
    fill(mailbox.mbox(path))
    found = rows(path, "label", "text", "id", "line", batch_bytes=batch_bytes)
    assert [row[:2] for row in found] == [("spam", text) for text in TEXTS]
    assert [row[2] for row in found] == ["<1@x>", None, None]
    lines = path.read_bytes().split(b"\n")
    assert [row[3] for row in found] == [n for n, line in enumerate(lines, 1) if line.startswith(b"From MAILER")]
    assert [label for label, _ in rows({"junk": path})] == ["junk"] * 3


def test_mbox_with_other_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "spam.mbox"
    fill(mailbox.mbox(path))
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert [text.split() for _, text in rows(path)] == [text.split() for text in TEXTS]


def test_not_an_mbox(tmp_path: Path) -> None:
    path = tmp_path / "spam.mbox"
    path.write_text("Subject: x\n\n")
    with pytest.raises(DataError) as caught:
        list(read(path))
    assert str(caught.value) == f"{path} is not an mbox: its first line should begin with 'From ' and have a time"


def test_maildir(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    box = mailbox.Maildir(path)
    box.add_folder("Spam").add(plain("buy\n", Subject="offer"))
    fill(box)
    reader = read(path)
    found = [row for batch in reader for row in batch.to_pylist()]
    assert sorted((row["label"], row["text"]) for row in found) == sorted(
        [("Spam", "offer\n\nbuy\n"), *(("inbox", text) for text in TEXTS)]
    )
    assert all(Path(row["source"]).is_file() for row in found)
    assert reader.bytes_read == reader.bytes_total
    assert {label for label, _ in rows({"x": path})} == {"x"}
    assert len(rows(path, "text", labelled=False, batch_bytes=1)) == 4


def test_eml(tmp_path: Path) -> None:
    path = tmp_path / "ham" / "1.eml"
    path.parent.mkdir()
    path.write_bytes(MESSAGES[0].as_bytes())
    assert rows(path, "label", "text", "id", "line") == [("ham", TEXTS[0], "<1@x>", None)]
    with path.open("rb") as file, pytest.raises(DataError) as caught:
        rows(file, format="eml")
    assert str(caught.value) == f"{path} has mail without labels: give all of it one with {{label: source}}"


def test_bad_mail_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "x.mbox"
    deep = b"".join(b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n) for n in range(5000))
    start = b"From a Mon Jan  1 00:00:00 2024\n"
    path.write_bytes(start + b"Subject: a\n\nb\n\n" + start + deep + b"\n\n" + start + b"Subject: c\n\nd\n")
    with pytest.raises(DataError) as caught:
        list(read(path))
    assert str(caught.value) == f"{path}, line 6: the mail has parts nested too deeply: leave it out"
    reader = read(path, skip_bad=True)
    assert [row["text"] for batch in reader for row in batch.to_pylist()] == ["a\n\nb\n", "c\n\nd\n"]
    assert reader.skipped == [str(caught.value)]
