"""Readers of the text corpora: what each publisher's files look like."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from bunrui.datasets.archives import Member
from bunrui.documents import read
from bunrui.errors import DataError, EncodingError

__all__ = ["Document", "agnews", "enron", "goemotions", "imdb", "livedoor", "newsgroups", "nsmc", "sms", "tables"]


class Document(NamedTuple):
    """`label` is a list where a document can have several; documents with an `order` are sorted by it."""

    split: str
    label: str | list[str]
    text: str
    order: tuple[str, ...] = ()


def tables(documents: Callable[[Iterator[Member]], Iterator[Document]], members: Iterator[Member]) -> dict[str, Any]:
    """A table of label and text for each split, in the order in which splits were found."""
    found: dict[str, list[Document]] = {}
    for document in documents(members):
        found.setdefault(document.split, []).append(document)
    return {split: _table(sorted(part, key=lambda document: document.order)) for split, part in found.items()}


def _table(documents: list[Document]) -> pa.Table:
    label: Any = pa.string()
    if isinstance(documents[0].label, list):
        label = pa.list_(label)
    columns = [[document.label for document in documents], [document.text for document in documents]]
    return pa.table(columns, schema=pa.schema([("label", label), ("text", pa.string())]))


# --- a file for each document


def newsgroups(members: Iterator[Member]) -> Iterator[Document]:
    """20news-bydate-train/GROUP/NUMBER, the same for test: messages with headers, in Latin-1."""
    for member in members:
        match member.parts:
            case (*_, "20news-bydate-train" | "20news-bydate-test" as split, group, _):
                yield Document(split.rpartition("-")[2], group, _decoded(member, "latin-1"), member.parts)


def imdb(members: Iterator[Member]) -> Iterator[Document]:
    """aclImdb/train/pos/0_9.txt, neg, test; the reviews without a label (unsup) are left out."""
    for member in members:
        match member.parts:
            case (*_, "train" | "test" as split, "pos" | "neg" as label, name) if name.endswith(".txt"):
                yield Document(split, label, _decoded(member), member.parts)


def livedoor(members: Iterator[Member]) -> Iterator[Document]:
    """text/CATEGORY/CATEGORY-NUMBER.txt: address, date, title and body by line; the text is title and body."""
    for member in members:
        match member.parts:
            case (*_, category, name) if name.startswith(f"{category}-") and name.endswith(".txt"):
                lines = _decoded(member).split("\n", 2)
                if len(lines) < 3:
                    raise DataError(f"{member.where}: address, date and title are expected, a line each")
                yield Document("all", category, lines[2], member.parts)


def enron(members: Iterator[Member]) -> Iterator[Document]:
    """enron1/ham/0001.1999-12-10.farmer.ham.txt, spam: of many encodings, read as Latin-1, which loses nothing."""
    for member in members:
        match member.parts:
            case (*_, user, "ham" | "spam" as label, name) if user.startswith("enron") and name.endswith(".txt"):
                yield Document(user, label, _decoded(member, "latin-1"), member.parts)


# --- a row for each document


def nsmc(members: Iterator[Member]) -> Iterator[Document]:
    """ratings_train.txt: id, document and label between tabs, with a header; quotes are plain characters."""
    for split, member in _splits(members, {"ratings_train.txt": "train", "ratings_test.txt": "test"}):
        for label, text in _rows(member, "", format="tab", text="document"):
            yield Document(split, label, text)


def sms(members: Iterator[Member]) -> Iterator[Document]:
    """SMSSpamCollection: ham or spam, a tab, the message."""
    for split, member in _splits(members, {"SMSSpamCollection": "all"}):
        for label, text in _rows(member, "label\ttext", format="tab"):
            yield Document(split, label, text)


_NEWS = {"1": "World", "2": "Sports", "3": "Business", "4": "Sci/Tech"}


def agnews(members: Iterator[Member]) -> Iterator[Document]:
    """train.csv: "3","title","description", all in quotes.

    The publisher wrote some line breaks as a lone backslash, which is left as it is: `\\n` may be the beginning of a
    word.
    """
    for split, member in _splits(members, {"train.csv": "train", "test.csv": "test"}):
        for label, text in _rows(member, "label,title,text", format="csv", text=["title", "text"]):
            yield Document(split, _of(_NEWS, label, member), text)


_EMOTIONS = (
    "admiration", "amusement", "anger", "annoyance", "approval", "caring", "confusion", "curiosity", "desire",
    "disappointment", "disapproval", "disgust", "embarrassment", "excitement", "fear", "gratitude", "grief", "joy",
    "love", "nervousness", "optimism", "pride", "realization", "relief", "remorse", "sadness", "surprise",
    "neutral",
)  # fmt: skip


def goemotions(members: Iterator[Member]) -> Iterator[Document]:
    """train.tsv: comment, numbers of emotions with commas between them, id; a comment with quotes is in quotes."""
    names = {str(number): name for number, name in enumerate(_EMOTIONS)}
    for split, member in _splits(members, {"train.tsv": "train", "dev.tsv": "dev", "test.tsv": "test"}):
        for numbers, text in _rows(member, "text\tlabel\tid", format="tsv"):
            yield Document(split, [_of(names, number, member) for number in numbers.split(",")], text)


# --- what they share


def _splits(members: Iterator[Member], names: dict[str, str]) -> Iterator[tuple[str, Member]]:
    return ((names[member.name], member) for member in members if member.name in names)


class _Named(io.BytesIO):
    """Bytes with a name, for messages."""

    name = ""


def _rows(member: Member, header: str, **options: Any) -> Iterator[tuple[str, str]]:
    """Labels and texts of a table; `header` is put before one that has none."""
    stream = _Named(f"{header}\n".encode() * bool(header) + member.read())
    stream.name = member.where + (" (with a header before it)" if header else "")
    try:
        for batch in read(stream, **options):
            yield from zip(batch["label"].to_pylist(), batch["text"].to_pylist(), strict=True)
    except DataError as error:
        raise type(error)(f"{stream.name}{_finding(str(error), stream.name)}: this is not the official file") from error


def _finding(message: str, name: str) -> str:
    """What is wrong with a table, without what to do about it, which is no advice for files of others.

    >>> _finding("a.txt, line 2: 3 columns expected, 2 found: take tabs out of the text", "a.txt")
    ', line 2: 3 columns expected, 2 found'
    """
    return ": ".join(message.removeprefix(name).split(": ")[:2]).partition(". Try ")[0]


def _of(names: dict[str, str], number: str, member: Member) -> str:
    if number not in names:
        raise DataError(f"{member.where}: there is no class {number!r}: this is not the official file")
    return names[number]


def _decoded(member: Member, encoding: str = "utf-8") -> str:
    try:
        return member.read().decode(encoding)
    except UnicodeDecodeError as error:
        raise EncodingError(f"{member.where}: byte {error.start} is not valid {encoding}") from error
