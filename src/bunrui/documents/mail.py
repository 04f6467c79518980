"""Mail: files with one mail, mbox files and Maildir folders; a mail → its text.

The text has subject, sender and recipient, then the plain parts, or the HTML parts if there are no plain ones.  Mail
programs forgive many mistakes: unknown charsets, bytes that do not fit the charset, broken encoded words.  So does this
module: bytes that cannot be decoded become U+FFFD.

If the caller gives no label, a name is the label: of the folder with the `.eml` file, of the Maildir, or of the mbox
without its suffix.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator, Mapping
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import Header, decode_header
from email.message import Message
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import pyarrow as pa

from bunrui.documents.encodings import AUTO, detect
from bunrui.documents.lines import cut_blocks
from bunrui.documents.sources import Source, Stream
from bunrui.documents.validation import Reading, RowError, Rows
from bunrui.errors import DataError, Option

# A line that begins with "From " and has a time in it, at the start or below an empty line.
_FROM = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]*\d\d?:\d\d[^\n]*\n")
_LAST_LINE = re.compile(rb"(?<=\n)\r?\n\Z")  # the empty line that belongs to the next mail
_QUOTED_FROM = re.compile(rb"^>(?=>*From )", re.MULTILINE)
_HEADERS = re.compile(rb"(?:[A-Za-z][\w-]*:[ \t][^\r\n]*\r?\n(?:[ \t][^\r\n]*\r?\n)*)+(?=\r?\n)")
_MAIL = (b"from", b"to", b"subject", b"date", b"received", b"message-id", b"mime-version", b"return-path")


def read_eml(stream: Stream, reading: Reading) -> Iterator[pa.RecordBatch]:
    """The batch of a file that holds one mail."""
    rows = Rows(reading)
    data = stream.whole()
    add_mail(rows, reading, data, label=_find_label(reading, parent=True))
    if batch := rows.batch():
        yield batch


def read_mbox(stream: Stream, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Batches of an mbox."""
    if not _FROM.match(stream.peek()):
        raise DataError(
            f"{reading.source.name} is not an mbox: its first line should begin with 'From ' and have a time"
        )
    label = _find_label(reading, parent=False)
    for block in cut_blocks(stream, reading, _find_last_mail, raw=True):
        rows = Rows(reading)
        found = [match.span() for match in _FROM.finditer(block.data)]
        ends = [start for start, _ in found[1:]] + [len(block.data)]
        line, seen = block.line, 0
        for (start, begin), end in zip(found, ends, strict=True):
            line += block.data.count(b"\n", seen, start)
            seen = start
            data = _LAST_LINE.sub(b"", _QUOTED_FROM.sub(b"", block.data[begin:end]))
            add_mail(rows, reading, data, line=line, label=label)
        if batch := rows.batch():
            yield batch


def _find_last_mail(data: bytes) -> int:
    """Find the start of the last mail: it may go on."""
    last = 0
    for match in _FROM.finditer(data):
        last = match.start()
    return last


def is_maildir(path: str) -> bool:
    """Whether a folder is a Maildir."""
    return all(os.path.isdir(os.path.join(path, name)) for name in ("cur", "new"))


def maildir_files(path: str) -> Iterator[tuple[str, str]]:
    """The mails of a Maildir and of the folders in it, each with the name of its folder, in a fixed order."""
    name = Path(path).resolve().name
    folders = [(path, name)]
    with os.scandir(path) as entries:
        inner = sorted(entry.name for entry in entries if entry.name.startswith(".") and entry.is_dir())
    folders += [(os.path.join(path, folder), folder[1:]) for folder in inner if is_maildir(os.path.join(path, folder))]
    for folder, label in folders:
        for part in ("cur", "new"):
            for file in sorted(os.listdir(os.path.join(folder, part))):
                if not file.startswith("."):
                    yield os.path.join(folder, part, file), label


def read_maildir(reading: Reading) -> Iterator[pa.RecordBatch]:
    """Batches of a Maildir."""
    assert reading.source.path is not None
    rows = Rows(reading)
    for path, folder in maildir_files(reading.source.path):
        with Stream(Source(path, path), reading.progress) as stream:
            data = stream.whole()
        add_mail(rows, reading, data, label=folder if reading.wants_label else None, source=path)
        if rows.is_full and (batch := rows.batch()):
            yield batch
    if batch := rows.batch():
        yield batch


def add_mail(
    rows: Rows, reading: Reading, data: bytes, *, label: str | None, line: int | None = None, source: str | None = None
) -> None:
    """Add one mail to the rows."""
    try:
        mail = parse_mail(data, reading.options.encoding)
    except RowError as bad:
        reading.refuse(bad.problem, line, source)
    else:
        rows.add([mail.text], label, mail.id, line=line, source=source)


def _find_label(reading: Reading, *, parent: bool) -> str | None:
    if not reading.wants_label:
        return None
    source = reading.source
    # A file that somebody has sent lies elsewhere: only its name says something.
    path = Path(source.name).resolve() if source.path == source.name else PurePath(source.name)
    label = path.parent.name if parent else path.name.split(".")[0]
    if source.path is None or not label:
        hint = "give all of it one with ", Option("as", ...)
        raise DataError(f"{source.name} has mail without labels", hint=hint)
    return label


def is_mail(head: bytes) -> bool:
    """Whether bytes begin with the headers of a mail, such as `Subject: …`: three usual ones, then an empty line."""
    block = _HEADERS.match(head)
    names = re.findall(rb"^([A-Za-z][\w-]*):", block[0].lower(), flags=re.MULTILINE) if block else []
    return len({name for name in names if name in _MAIL}) >= 3


# --- one mail

# What is sent under a name is often written with the vendor's larger set.
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "x-sjis": "cp932",
    "iso-2022-jp": "iso2022_jp_ext",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "iso-8859-1": "cp1252",
    "us-ascii": "ascii",
}
_LONE = re.compile("[\ud800-\udfff]")


class Mail(NamedTuple):
    """The parts of a mail that a classifier reads."""

    text: str
    id: str | None


def parse_mail(data: bytes, encoding: str = "utf-8") -> Mail:
    """A mail in bytes → its text and its Message-ID.

    Parameters
    ----------
    data : bytes
    encoding : str
        The encoding of parts and headers that name no charset, or a wrong one, and are not UTF-8; `"auto"` finds it
        out for each.

    Examples
    --------
    >>> parse_mail(b"Subject: =?utf-8?b?5pyI5pu4?=\\nFrom: a@example.org\\nMessage-ID: <1@x>\\n\\nHello\\n")
    Mail(text='月書\\na@example.org\\n\\nHello\\n', id='<1@x>')
    """
    try:
        message = message_from_bytes(data)
        heads = [_read_header(message, name, encoding) for name in ("Subject", "From", "To")]
        parts = list(_list_parts(message))
        plain = [_read_content(part, encoding) for part in parts if part.get_content_type() == "text/plain"]
        if not any(text.strip() for text in plain):
            pages = [part for part in parts if part.get_content_type() == "text/html"]
            plain = [html_to_text(_read_content(page, encoding)) for page in pages] or plain
        name = _read_header(message, "Message-ID", encoding)
    except RecursionError:
        raise RowError("the mail has parts nested too deeply: leave it out") from None
    except Exception as error:  # the parser raises anything but its own errors when headers are malformed enough
        raise RowError(f"the mail cannot be parsed ({type(error).__name__}: {error}): leave it out") from error
    text = "\n".join([*filter(None, heads), "", *plain])
    return Mail(_LONE.sub("\ufffd", text), _LONE.sub("\ufffd", name) or None)


def _list_parts(message: Message[Any, Any]) -> Iterator[Message[Any, Any]]:
    """The parts that are shown, attachments left out."""
    if message.get_content_disposition() == "attachment" or message.get_filename():
        return
    if message.is_multipart():
        for part in message.get_payload():
            yield from _list_parts(part)  # type: ignore[arg-type]
    else:
        yield message


def _read_content(part: Message[Any, Any], encoding: str) -> str:
    data = part.get_payload(decode=True)
    return _decode(data, part.get_content_charset(), encoding) if isinstance(data, bytes) else ""


def _read_header(message: Message[Any, Any], name: str, encoding: str) -> str:
    # Not message[name]: for bytes beyond ASCII it gives U+FFFD.
    written = next((str(value) for key, value in message.raw_items() if key.lower() == name.lower()), "")
    try:
        words = decode_header(written)
    except HeaderParseError:
        words = [(written, None)]
    text = ""
    for word, charset in words:
        if isinstance(word, bytes) and charset is None:  # beside encoded words, plain ones come like this
            word = word.decode("raw-unicode-escape")
        data = word.encode("utf-8", "surrogateescape") if isinstance(word, str) else word
        text += _decode(data, charset, encoding)
    return " ".join(text.split())


def _decode(data: bytes, charset: str | None, encoding: str) -> str:
    others = [detect(data)] if encoding == AUTO else ["utf-8", encoding]
    for name in (_WIDER.get(charset.lower(), charset) if charset else None, *others):
        if name:
            try:
                return data.decode(name)
            except (LookupError, ValueError):
                pass
    try:
        return data.decode(_WIDER.get(charset.lower(), charset) if charset else "utf-8", "replace")
    except (LookupError, ValueError):
        return data.decode("utf-8", "replace")


# --- headers

_HEADER = re.compile(rb"(?!\r?\n)[^\n]+(?:\n(?=[ \t])[^\n]*)*(?:\n|\Z)")  # with the lines that go on with it
_NAME = re.compile(rb"[!-9;-~]+[ \t]*:")


def stamp(data: bytes, headers: Mapping[str, str | None]) -> bytes:
    """A mail with some headers, which come first, in place of those that it has by these names; None has no header.

    Everything else stays as it is, also lines that are no headers.

    >>> stamp(b"Subject: hi\\nX-Label: old,\\n folded\\n\\nHello\\n", {"X-Label": "月"})
    b'X-Label: =?utf-8?b?5pyI?=\\nSubject: hi\\n\\nHello\\n'
    """
    names = {name.lower().encode() for name in headers}
    newline = b"\r\n" if data.partition(b"\n")[0].endswith(b"\r") else b"\n"
    kept: list[bytes] = []
    at = 0
    while match := _HEADER.match(data, at):
        at = match.end()
        named = _NAME.match(match[0])
        if named is None or named[0].rstrip(b" \t:").lower() not in names:
            kept.append(match[0])
    mark = [kept.pop(0)] if kept and kept[0].startswith((b"From ", b">From ")) else []  # of an mbox
    given = [(name, value) for name, value in headers.items() if value is not None]
    new = [f"{name}: {_write_header(value)}".encode() + newline for name, value in given]
    is_headless = bool(kept and new) and not _NAME.match(kept[0])
    return b"".join([*mark, *new, *([newline] if is_headless else []), *kept, data[at:]])


def _write_header(value: str) -> str:
    """A value that is one line of ASCII."""
    plain = " ".join(value.split())
    return plain if plain.isascii() and plain.isprintable() else Header(plain, "utf-8", maxlinelen=0).encode(linesep="")


# --- HTML

_TAG = re.compile(r"<(?:!--|[!?/]?([a-zA-Z][^\s/<>]*))")
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in ("script", "style")}
_BLOCK_NAMES = """
blockquote br center dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre table td th title tr ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_LONG_NUMBER = re.compile(r"&#[0-9]{9,};?")  # no character; Python may refuse to read it as a number


def html_to_text(markup: str) -> str:
    """Text without tags, comments, scripts and style sheets; one pass, linear in any case.

    >>> html_to_text("<style>p {}</style><p>R&amp;D <b>costs</b><br>3 &lt; 4<!-- no -->")
    '\\nR&D costs\\n3 < 4'
    """
    parts: list[str] = []
    at = 0
    while match := _TAG.search(markup, at):
        start, end = match.span()
        parts.append(markup[at:start])
        name = (match[1] or "").lower()
        close = markup.find(">" if name else "-->", end)
        if close < 0:
            at = start  # never closed, nor is any tag after it: text
            break
        at = close + (1 if name else 3)
        if name in _RAW_END and match[0][1] != "/":
            over = _RAW_END[name].search(markup, at)
            at = over.start() if over else len(markup)
        if name in _BLOCKS:
            parts.append("\n")
    parts.append(markup[at:])
    return html.unescape(_LONG_NUMBER.sub("\ufffd", "".join(parts)))
