"""A mail → its text; a mail with other headers.  Mails come alone here, and from files by `mailbox.py`.

The text has subject, sender and recipient, then the plain parts, or the HTML parts if there are no plain ones.  Mail
programs forgive many mistakes: unknown charsets, bytes that do not fit the charset, broken encoded words.  So does this
module: bytes that cannot be decoded become U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import Header, decode_header
from email.message import Message
from typing import Any, NamedTuple

from bunrui.documents.encodings import AUTO, detect
from bunrui.errors import DataError

# Strings, where `bunrui deliver` compiles none of them: `re` keeps compiled ones.
_HEADERS = rb"(?:[A-Za-z][\w-]*:[ \t][^\r\n]*\r?\n(?:[ \t][^\r\n]*\r?\n)*)+(?=\r?\n)"
_MAIL = (b"from", b"to", b"subject", b"date", b"received", b"message-id", b"mime-version", b"return-path")


def is_mail(head: bytes) -> bool:
    """Whether bytes begin with the headers of a mail, such as `Subject: …`: three usual ones, then an empty line."""
    block = re.match(_HEADERS, head)
    names = re.findall(rb"^([A-Za-z][\w-]*):", block[0].lower(), flags=re.MULTILINE) if block else []
    return len({name for name in names if name in _MAIL}) >= 3


# --- one mail

# Mails often name a character set, and use characters of the vendor's larger set.
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
        raise DataError("the mail has parts nested too deeply: leave it out") from None
    except Exception as error:  # the parser raises anything but its own errors when headers are malformed enough
        raise DataError(f"the mail cannot be parsed ({type(error).__name__}: {error}): leave it out") from error
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

_TAG = r"<(?:!--|[!?/]?([a-zA-Z][^\s/<>]*))"
_RAW_END = {name: rf"(?i:</{name})(?=[\s/>])" for name in ("script", "style")}
_BLOCK_NAMES = """
blockquote br center dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre table td th title tr ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_LONG_NUMBER = r"&#[0-9]{9,};?"  # no character; Python may refuse to read it as a number


def html_to_text(markup: str) -> str:
    """Text without tags, comments, scripts and style sheets; one pass, linear in any case.

    >>> html_to_text("<style>p {}</style><p>R&amp;D <b>costs</b><br>3 &lt; 4<!-- no -->")
    '\\nR&D costs\\n3 < 4'
    """
    import html  # 2 ms, and most mails have a plain part

    parts: list[str] = []
    at, tags = 0, re.compile(_TAG)
    while match := tags.search(markup, at):
        start, end = match.span()
        parts.append(markup[at:start])
        name = (match[1] or "").lower()
        close = markup.find(">" if name else "-->", end)
        if close < 0:
            at = start  # never closed, nor is any tag after it: text
            break
        at = close + (1 if name else 3)
        if name in _RAW_END and match[0][1] != "/":
            over = re.compile(_RAW_END[name]).search(markup, at)
            at = over.start() if over else len(markup)
        if name in _BLOCKS:
            parts.append("\n")
    parts.append(markup[at:])
    return html.unescape(re.sub(_LONG_NUMBER, "\ufffd", "".join(parts)))
