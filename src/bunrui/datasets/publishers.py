"""Readers of the publishers' files: a file for each document, rows, SGML, and tables as rows or ARFF.

A corpus of texts gives a table of `label` and `text` for each split.  A table gives the column `label` and a column for
each attribute: numbers where all values are, else strings; a missing value (`?`, not in quotes) is null.  ARFF brings
names and types; the columns of other files are called after their places in the file: c1, c2 …
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from bunrui.datasets.archives import NOT_OFFICIAL, Member
from bunrui.documents import read
from bunrui.errors import DataError, EncodingError


class Document(NamedTuple):
    """`label` is a list where a document can have several; documents with an `order` are sorted by it."""

    split: str
    label: str | list[str]
    text: str
    order: tuple[str, ...] = ()


Documents = Callable[[Iterator[Member]], Iterator[Document]]
"""Members of an archive → documents."""


def read_texts(read: Documents, members: Iterator[Member]) -> dict[str, pa.Table]:
    """A table of label and text for each split, in the order in which splits were found."""
    found: dict[str, list[Document]] = {}
    for document in read(members):
        found.setdefault(document.split, []).append(document)
    return {split: _make_table(sorted(part, key=lambda document: document.order)) for split, part in found.items()}


def _make_table(documents: list[Document]) -> pa.Table:
    label: Any = pa.string()
    if isinstance(documents[0].label, list):
        label = pa.list_(label)
    columns = [[document.label for document in documents], [document.text for document in documents]]
    return pa.table(columns, schema=pa.schema([("label", label), ("text", pa.string())]))


# --- a file for each document


def files(members: Iterator[Member], pattern: str, encoding: str = "utf-8", n_before: int = 0) -> Iterator[Document]:
    """Files whose path, at its end, tells the label, and the split where there are several.

    The first `n_before` lines of a file are not read.
    """
    for member in members:
        if found := re.search(rf"(?:\A|/){pattern}\Z", "/".join(member.parts)):
            lines = _decode(member, encoding).split("\n", n_before)
            if len(lines) <= n_before:
                few = f"{n_before} lines are expected before the text"
                raise DataError(few, file=member.where, hint=NOT_OFFICIAL)
            yield Document(found.groupdict().get("split", "all"), found["label"], lines[-1], member.parts)


# --- a row for each document


_NEWS = {"1": "World", "2": "Sports", "3": "Business", "4": "Sci/Tech"}
_NAMES = (
    "admiration", "amusement", "anger", "annoyance", "approval", "caring", "confusion", "curiosity", "desire",
    "disappointment", "disapproval", "disgust", "embarrassment", "excitement", "fear", "gratitude", "grief", "joy",
    "love", "nervousness", "optimism", "pride", "realization", "relief", "remorse", "sadness", "surprise",
    "neutral",
)  # fmt: skip
_EMOTIONS = {str(number): name for number, name in enumerate(_NAMES)}


def rows(
    members: Iterator[Member], splits: Mapping[str, str], header: str = "", classes: Any = None, **options: Any
) -> Iterator[Document]:
    """Files with a row for each document, by the names of the files.

    `header` is put before files that have none.  `classes` has the names of classes that are numbers in the files.
    `options` are those of `read`.
    """
    for member in members:
        if member.name in splits:
            for label, text in _read_rows(member, header, **options):
                yield Document(splits[member.name], _name_class(classes, label, member) if classes else label, text)


# --- SGML

_SPLITS = {"TRAIN": "train", "TEST": "test"}
_SGML_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_ENTITY = re.compile(r"&(?:#(\d{1,7})|(lt|gt|amp|quot|apos));")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_TAG = re.compile(r"</?[A-Z][^<>]*>")


def reuters(members: Iterator[Member]) -> Iterator[Document]:
    """Reuters-21578, SGML of 1987, in the ModApte split.

        <REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" … NEWID="1">
        <TOPICS><D>cocoa</D></TOPICS><PLACES>…</PLACES>
        <TEXT>&#2;<TITLE>BAHIA COCOA REVIEW</TITLE><DATELINE>…</DATELINE><BODY>… Reuter&#3;</BODY></TEXT>
        </REUTERS>

    Documents with TOPICS="YES" were seen by an indexer.  LEWISSPLIT says whether such a document is for training
    (9,603) or for testing (3,299); the others are in neither set.  2,108 of them were given no topic: their list of
    labels is empty.
    """
    for member in members:
        if member.name.endswith(".sgm"):
            yield from _split_stories(member.read().decode("latin-1"), member)


def _split_stories(sgml: str, member: Member) -> Iterator[Document]:
    for n, piece in enumerate(sgml.split("<REUTERS ")[1:], 1):
        head, opened, body = piece.partition(">")
        body, closed, _ = body.partition("</REUTERS>")
        if not (opened and closed):
            raise DataError(f"document {n} is cut short", file=member.where, hint="fetch the file again")
        attributes = dict(_SGML_ATTRIBUTE.findall(head))
        split = _SPLITS.get(attributes.get("LEWISSPLIT", ""))
        if split is not None and attributes.get("TOPICS") == "YES":
            topics = [_strip_tags(topic) for topic in _find_element(body, "TOPICS").split("<D>")[1:]]
            yield Document(split, topics, _strip_tags(_find_element(body, "TEXT")))


def _find_element(sgml: str, name: str) -> str:
    """The inside of the first element of a name."""
    inside = re.search(rf"<{name}(?: [^>]*)?>", sgml)
    return "" if inside is None else sgml[inside.end() :].partition(f"</{name}>")[0]


def _strip_tags(sgml: str) -> str:
    """Text without tags, entities and the control characters of the wire.

    >>> _strip_tags("&#2;\\n<TITLE>OIL &lt;SRD> &amp; GAS</TITLE>\\n<BODY>One.\\n Reuter\\n&#3;</BODY>")
    'OIL <SRD> & GAS\\n\\n\\nOne.\\n Reuter'
    """
    # Tags first: &lt;SRD> is no tag.
    return _CONTROL.sub("", _ENTITY.sub(_decode_entity, _TAG.sub("\n", sgml))).strip()


def _decode_entity(entity: re.Match[str]) -> str:
    number, name = entity.groups()
    if name:
        return _NAMED[name]
    code = int(number)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


READERS: Mapping[str, Documents] = {
    # 20news-bydate-train/GROUP/NUMBER: messages with headers, in Latin-1.
    "20news": partial(files, pattern=r"20news-bydate-(?P<split>train|test)/(?P<label>[^/]+)/[^/]+", encoding="latin-1"),
    # train.csv: "3","title","description", all in quotes.  The publisher wrote some line breaks as a lone backslash,
    # which is left as it is: `\n` may be the beginning of a word.
    "agnews": partial(
        rows,
        splits={"train.csv": "train", "test.csv": "test"},
        header="label,title,text",
        classes=_NEWS,
        format="csv",
        text=["title", "text"],
    ),
    # enron1/ham/0001.1999-12-10.farmer.ham.txt, spam: of many encodings, read as Latin-1, which loses nothing.
    "enron": partial(files, pattern=r"(?P<split>enron[^/]*)/(?P<label>ham|spam)/[^/]*\.txt", encoding="latin-1"),
    # train.tsv: comment, numbers of emotions with commas between them, id; a comment with quotes is in quotes.
    "goemotions": partial(
        rows,
        splits={"train.tsv": "train", "dev.tsv": "dev", "test.tsv": "test"},
        header="text\tlabel\tid",
        classes=_EMOTIONS,
        format="tsv",
        separator=",",
    ),
    # aclImdb/train/pos/0_9.txt, neg, test; the reviews without a label (unsup) are left out.
    "imdb": partial(files, pattern=r"(?P<split>train|test)/(?P<label>pos|neg)/[^/]*\.txt"),
    # text/CATEGORY/CATEGORY-NUMBER.txt: address and date, a line each; the text is title and body.
    "livedoor": partial(files, pattern=r"(?P<label>[^/]+)/(?P=label)-[^/]*\.txt", n_before=2),
    # ratings_train.txt: id, document and label between tabs, with a header; quotes are plain characters.
    "nsmc": partial(
        rows, splits={"ratings_train.txt": "train", "ratings_test.txt": "test"}, format="tab", text="document"
    ),
    "reuters": reuters,
    # SMSSpamCollection: ham or spam, a tab, the message.
    "sms": partial(rows, splits={"SMSSpamCollection": "all"}, header="label\ttext", format="tab"),
}
"""The reader of each corpus of texts."""


# --- shared by the readers of texts


class _Named(io.BytesIO):
    """Bytes with a name, for messages."""

    name = ""


def _read_rows(member: Member, header: str, **options: Any) -> Iterator[tuple[Any, str]]:
    """Labels and texts of a table; `header` is put before one that has none."""
    stream = _Named(f"{header}\n".encode() * bool(header) + member.read())
    stream.name = member.where + (" (with a header before it)" if header else "")
    try:
        for batch in read(stream, **options):
            yield from zip(batch["label"].to_pylist(), batch["text"].to_pylist(), strict=True)
    except DataError as error:
        # The fault of the table alone: advice is of no use for files of others.
        said = str(error).removeprefix(error.place).partition(": ")[0].partition(". Try ")[0]
        raise type(error)(said, file=stream.name, line=error.line, hint=NOT_OFFICIAL) from error


def _name_class(classes: Mapping[str, str], number: Any, member: Member) -> Any:
    if isinstance(number, list):
        return [_name_class(classes, each, member) for each in number]
    if number not in classes:
        raise DataError(f"there is no class {number!r}", file=member.where, hint=NOT_OFFICIAL)
    return classes[number]


def _decode(member: Member, encoding: str = "utf-8") -> str:
    try:
        return member.read().decode(encoding)
    except UnicodeDecodeError as error:
        raise EncodingError(
            f"byte {error.start} is not valid {encoding}", file=member.where, hint=NOT_OFFICIAL
        ) from error


# --- tables

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_ARFF_ATTRIBUTE = re.compile(r"""@attribute\s+('(?:\\.|[^'\\])*'|"[^"]*"|[^\s{]+)\s*(\{|\w+)""", re.IGNORECASE)
_QUESTION = "\x00"

Row = list["str | None"]


class Sheet(NamedTuple):
    """Rows of cells; `numeric` says which columns are numbers, None that the values tell."""

    names: list[str]
    rows: list[Row]
    label: int
    numeric: list[bool] | None = None


@dataclass(frozen=True)
class Layout:
    """How the files of a table are to be read.

    Attributes
    ----------
    files : mapping of str to str
        Names of files → splits.
    label : int
        The column of the class; -1 is the last.
    leave_out : tuple of int
        Columns that are names or numbers of rows.
    separator : str
        Empty for spaces.
    arff_label : int
        The column of the class in ARFF, where no attribute is called so.
    names : tuple of str
        The names of all columns but the label, in the order of the file.
    """

    files: Mapping[str, str]
    label: int = -1
    leave_out: tuple[int, ...] = ()
    separator: str = ","
    arff_label: int = -1
    names: tuple[str, ...] = field(default=(), repr=False)

    def __call__(self, members: Iterator[Member]) -> dict[str, pa.Table]:
        found: dict[str, Sheet] = {}
        for member in members:
            split = self._find_split(member.name)
            if split is not None:
                found[split] = self._read_sheet(member) if member.name.endswith(".arff") else self._read_rows(member)
                first = next(iter(found.values()))
                if (found[split].names, found[split].numeric) != (first.names, first.numeric):
                    raise DataError(
                        "the columns are not those of the other files", file=member.where, hint=NOT_OFFICIAL
                    )
        numeric = _find_numeric(found)
        return {split: self._table(rows, numeric) for split, rows in found.items()}

    def _find_split(self, name: str) -> str | None:
        """The split that a file has, if any; ARFF files go by several names: heart.c, heart-c, heart_c."""
        if not name.endswith(".arff"):
            return self.files.get(name)
        letters = _keep_letters(name)
        return next((split for known, split in self.files.items() if _keep_letters(known) == letters), None)

    def _read_rows(self, member: Member) -> Sheet:
        rows: list[Row] = []
        width = 0
        for number, line in enumerate(member.read().decode("latin-1").splitlines(), 1):
            line = line.strip()
            if not line or line.startswith("|"):  # a comment of C4.5
                continue
            cells = [cell.strip() for cell in line.split(self.separator or None)]
            width = width or len(cells)
            if len(cells) != width:
                raise _columns_error(width, len(cells), file=member.where, line=number)
            rows.append([None if cell == "?" else cell for cell in cells])
        if not rows:
            raise DataError("there are no rows", file=member.where, hint=NOT_OFFICIAL)
        if self.names and width != len(self.names) + 1:
            raise _columns_error(len(self.names) + 1, width, file=member.where)
        label = self.label % width
        names = list(self.names) or [f"c{n}" for n in range(1, width + 1) if n != label + 1]
        names.insert(label, "label")
        for row in rows:
            row[label] = (row[label] or "").removesuffix(".") or None  # C4.5 ends a row so, in adult.test
        return Sheet(names, rows, label)

    def _read_sheet(self, member: Member) -> Sheet:
        try:
            found = read_arff(member.read().decode("utf-8", "replace"))
        except DataError as error:
            error.file = member.where
            raise
        except csv.Error as error:
            raise DataError(str(error), file=member.where, hint=NOT_OFFICIAL) from error
        classes = [n for n, name in enumerate(found.names) if name.lower() == "class"]
        label = classes[0] if len(classes) == 1 else self.arff_label % len(found.names)
        return found._replace(label=label)

    def _table(self, found: Sheet, numeric: list[bool]) -> pa.Table:
        rows = [row for row in found.rows if row[found.label] is not None]
        columns = {"label": pa.array([row[found.label] for row in rows], pa.string())}
        for n, name in enumerate(found.names):
            if n != found.label and (n not in self.leave_out or found.numeric is not None):
                kind = pa.float64() if numeric[n] else pa.string()
                values = (row[n] for row in rows)
                cells = [None if value is None else float(value) if numeric[n] else value for value in values]
                columns[f"{name}_" if name == "label" else name] = pa.array(cells, kind)
        return pa.table(columns)


def _columns_error(expected: int, found: int, **place: Any) -> DataError:
    return DataError(f"{expected} columns expected, not {found}", **place, hint=NOT_OFFICIAL)


def _keep_letters(name: str) -> str:
    """Letters and digits alone.

    >>> _keep_letters("waveform-5000.arff"), _keep_letters("anneal.ORIG.arff")
    ('waveform5000arff', 'annealorigarff')
    """
    return re.sub(r"[\W_]", "", name).lower()


def _find_numeric(found: Mapping[str, Sheet]) -> list[bool]:
    """Which columns are numbers, in all splits alike."""
    declared = next((part.numeric for part in found.values()), [])
    if declared is not None:
        return declared
    columns = zip(*(row for part in found.values() for row in part.rows), strict=True)
    cells = ([cell for cell in column if cell is not None] for column in columns)
    return [bool(known) and all(map(_NUMBER.fullmatch, known)) for known in cells]


def read_arff(text: str) -> Sheet:
    """The names of the columns, the rows, and which columns are numbers.

    >>> read_arff("@attribute 'a b' real\\n@attribute c {x,'y z'}\\n@DATA\\n% rows\\n1.5, 'y z'\\n?,x % no\\n")
    Sheet(names=['a b', 'c'], rows=[['1.5', 'y z'], [None, 'x']], label=-1, numeric=[True, False])
    """
    names: list[str] = []
    numeric: list[bool] = []
    rows: list[Row] = []
    lines = enumerate(text.splitlines(), 1)
    for number, line in lines:
        line = line.strip()
        if line.lower().startswith("@attribute"):
            found = _ARFF_ATTRIBUTE.match(line)
            if found is None:
                raise DataError(f"this is no attribute of ARFF, {line[:60]!r}", line=number, hint=NOT_OFFICIAL)
            names.append(_unquote(found[1]))
            numeric.append(found[2].lower() in ("real", "numeric", "integer"))
        elif line.lower().startswith("@data"):
            break
    if not names:
        raise DataError("this is not ARFF: there is no line with @attribute before @data")
    for number, line in lines:
        cells = _split_cells(line.strip())
        if cells and len(cells) != len(names):
            raise _columns_error(len(names), len(cells), line=number)
        for n, value in enumerate(cells):
            if value is not None and numeric[n] and not _NUMBER.fullmatch(value):
                raise DataError(f"{value!r} is no number, as {names[n]!r} should be", line=number, hint=NOT_OFFICIAL)
        if cells:
            rows.append(cells)
    return Sheet(names, rows, -1, numeric)


def _split_cells(line: str) -> Row:
    if not line or line.startswith("%"):
        return []
    quote = '"' if '"' in line and "'" not in line else "'"
    if quote not in line:
        line = line.partition("%")[0]
    # In quotes it is a value: that of a column that does not apply, in anneal.arff.
    line = line.replace(f"{quote}?{quote}", _QUESTION)
    (cells,) = csv.reader([line], quotechar=quote, escapechar="\\", skipinitialspace=True)
    return [None if cell.strip() == "?" else cell.strip().replace(_QUESTION, "?") for cell in cells]


def _unquote(name: str) -> str:
    return name[1:-1].replace("\\'", "'") if name[:1] in "'\"" else name
