"""A mail → its text: subject, sender and recipient, then the plain parts, or the HTML parts where there are none.

Mail is full of mistakes that mail programs forgive: unknown charsets, bytes that are not of the charset named, broken
encoded words.  They are forgiven here too: what cannot be decoded becomes U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from typing import Any, NamedTuple

from bunrui.documents.encodings import AUTO, detected
from bunrui.documents.markup import html_to_text
from bunrui.documents.reading import RowError

__all__ = ["Mail", "parse_mail"]

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
    """What a classifier wants of a mail."""

    text: str
    id: str | None


def parse_mail(data: bytes, encoding: str = "utf-8") -> Mail:
    """A mail in bytes → its text and its Message-ID.

    Parameters
    ----------
    data : bytes
    encoding : str
        What bytes are where no charset is named, or a wrong one, if they are not UTF-8; `"auto"` is found out for each
        part and header.

    Examples
    --------
    >>> parse_mail(b"Subject: =?utf-8?b?5pyI5pu4?=\\nFrom: a@example.org\\nMessage-ID: <1@x>\\n\\nHello\\n")
    Mail(text='月書\\na@example.org\\n\\nHello\\n', id='<1@x>')
    """
    try:
        message = message_from_bytes(data)
        heads = [_header(message, name, encoding) for name in ("Subject", "From", "To")]
        parts = list(_parts(message))
        plain = [_content(part, encoding) for part in parts if part.get_content_type() == "text/plain"]
        if not any(text.strip() for text in plain):
            pages = [part for part in parts if part.get_content_type() == "text/html"]
            plain = [html_to_text(_content(page, encoding)) for page in pages] or plain
        name = _header(message, "Message-ID", encoding)
    except RecursionError:
        raise RowError("the mail has parts nested too deeply: leave it out") from None
    except Exception as error:  # the parser raises anything but its own errors when headers are malformed enough
        raise RowError(f"the mail cannot be parsed ({type(error).__name__}: {error}): leave it out") from error
    text = "\n".join([*filter(None, heads), "", *plain])
    return Mail(_LONE.sub("\ufffd", text), _LONE.sub("\ufffd", name) or None)


def _parts(message: Message[Any, Any]) -> Iterator[Message[Any, Any]]:
    """The parts that are shown, attachments left out."""
    if message.get_content_disposition() == "attachment" or message.get_filename():
        return
    if message.is_multipart():
        for part in message.get_payload():
            yield from _parts(part)  # type: ignore[arg-type]
    else:
        yield message


def _content(part: Message[Any, Any], encoding: str) -> str:
    data = part.get_payload(decode=True)
    return _decoded(data, part.get_content_charset(), encoding) if isinstance(data, bytes) else ""


def _header(message: Message[Any, Any], name: str, encoding: str) -> str:
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
        text += _decoded(data, charset, encoding)
    return " ".join(text.split())


def _decoded(data: bytes, charset: str | None, encoding: str) -> str:
    others = [detected(data)] if encoding == AUTO else ["utf-8", encoding]
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
