"""Reuters-21578: SGML of 1987 → documents of the ModApte split.

    <REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" … NEWID="1">
    <TOPICS><D>cocoa</D></TOPICS><PLACES>…</PLACES>
    <TEXT>&#2;<TITLE>BAHIA COCOA REVIEW</TITLE><DATELINE>…</DATELINE><BODY>… Reuter&#3;</BODY></TEXT>
    </REUTERS>

Documents with TOPICS="YES" were seen by an indexer.  LEWISSPLIT says whether such a document is for training (9,603) or
for testing (3,299); the others are in neither set.  2,108 of them were given no topic: their list of labels is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bunrui.datasets.archives import Member
from bunrui.datasets.texts import Document
from bunrui.errors import DataError

__all__ = ["documents"]

_SPLITS = {"TRAIN": "train", "TEST": "test"}
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_ENTITY = re.compile(r"&(?:#(\d{1,7})|(lt|gt|amp|quot|apos));")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_TAG = re.compile(r"</?[A-Z][^<>]*>")


def documents(members: Iterator[Member]) -> Iterator[Document]:
    """The documents of all `.sgm` files."""
    for member in members:
        if member.name.endswith(".sgm"):
            yield from _documents(member.read().decode("latin-1"), member)


def _documents(sgml: str, member: Member) -> Iterator[Document]:
    for n, piece in enumerate(sgml.split("<REUTERS ")[1:], 1):
        head, opened, body = piece.partition(">")
        body, closed, _ = body.partition("</REUTERS>")
        if not (opened and closed):
            raise DataError(f"{member.where}: document {n} is cut short: fetch the file again")
        attributes = dict(_ATTRIBUTE.findall(head))
        split = _SPLITS.get(attributes.get("LEWISSPLIT", ""))
        if split is not None and attributes.get("TOPICS") == "YES":
            topics = [_plain(topic) for topic in _element(body, "TOPICS").split("<D>")[1:]]
            yield Document(split, topics, _plain(_element(body, "TEXT")))


def _element(sgml: str, name: str) -> str:
    """What stands in the first element of a name."""
    inside = re.search(rf"<{name}(?: [^>]*)?>", sgml)
    return "" if inside is None else sgml[inside.end() :].partition(f"</{name}>")[0]


def _plain(sgml: str) -> str:
    """Text without tags, entities and the control characters of the wire.

    >>> _plain("&#2;\\n<TITLE>OIL &lt;SRD> &amp; GAS</TITLE>\\n<BODY>One.\\n Reuter\\n&#3;</BODY>")
    'OIL <SRD> & GAS\\n\\n\\nOne.\\n Reuter'
    """
    # Tags first: &lt;SRD> is no tag.
    return _CONTROL.sub("", _ENTITY.sub(_character, _TAG.sub("\n", sgml))).strip()


def _character(entity: re.Match[str]) -> str:
    number, name = entity.groups()
    if name:
        return _NAMED[name]
    code = int(number)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
