"""Guesses of encodings, and how they are told."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui.data import read as demo
from bunrui.documents import read
from bunrui.documents.encodings import detected, encoding_error, guesses, is_utf8
from bunrui.errors import EncodingError
from tests.documents.test_reader import rows

SENTENCES = {lang: [row["text"] for row in demo("demo") if row["lang"] == lang] for lang in ("ja", "zh", "ko")}
TRADITIONAL = [
    "昨天的會議決定把圖書館的開放時間延長到晚上十點",
    "研究人員發現這種材料在低溫下仍能保持導電性",
    "總統表示將與鄰國討論貿易問題",
]


@pytest.mark.parametrize(
    ("lang", "encoding"), [("ja", "cp932"), ("ja", "euc-jp"), ("zh", "gb18030"), ("ko", "cp949")]
)  # fmt: skip
def test_guesses_on_sentences(lang: str, encoding: str) -> None:
    wrong = [text for text in SENTENCES[lang] if guesses(text.encode(encoding, "replace"))[0] != encoding]
    assert wrong == []


def test_guesses_on_other_sentences() -> None:
    for text in TRADITIONAL:
        assert guesses(text.encode("big5"))[0] == "big5"
    for text in ("Où est le café près de la forêt ?", "Schöne Grüße aus München", "mañana será otro día"):
        assert guesses(text.encode("latin-1")) == ["latin-1"]
    assert guesses("﻿Ärger".encode("utf-16")) == ["utf-16"]


# --- auto


@pytest.mark.parametrize(("lang", "encoding"), [("ja", "cp932"), ("ja", "euc-jp"), ("zh", "gb18030"), ("ko", "cp949")])
@pytest.mark.parametrize("ascii", ["", "id,name\n" * 1000])
def test_detected(lang: str, encoding: str, ascii: str) -> None:
    for text in SENTENCES[lang]:
        written = text.encode(encoding, "ignore").decode(encoding)
        assert detected((ascii + written).encode(encoding)) == encoding
        assert detected((ascii + written).encode()) == "utf-8"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_decides(encoding: str) -> None:
    assert detected("今日".encode(encoding)) == encoding.removesuffix("-sig")
    assert detected("今日".encode(encoding) + b"\x81\xff") == encoding.removesuffix("-sig")


def test_a_cut_character_is_no_reason() -> None:
    data = ("x" + "天" * 100).encode()[:-1]
    assert detected(data, is_cut=True) == "utf-8"
    assert detected(("x" + "天気" * 100).encode("cp932")[:-1], is_cut=True) == "cp932"


def test_what_is_damaged_is_not_taken_for_latin_1() -> None:
    text = "今日は良い天気です\n" * 9
    assert detected(text.encode() + b"\xe3\x81\n" + text.encode()) == "utf-8"
    assert detected(text.encode("cp932") * 99 + b"\x81\xff\n") == "cp932"
    assert detected(text.encode("cp932") + b"\x81\xff\n") == "utf-8"
    assert detected(text.encode() + "un café\n".encode("latin-1")) == "utf-8"


def test_what_is_no_text_is_utf8() -> None:
    assert detected(b"PK\3\4\0\0\x80\xff") == "utf-8"


FILES = {
    "csv": "label,text\nニュース,今日は良い天気です\n",
    "tsv": "label\ttext\nニュース\t今日は良い天気です\n",
    "jsonl": '{"label": "ニュース", "text": "今日は良い天気です"}\n',
    "fasttext": "__label__ニュース 今日は良い天気です\n",
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp932", "euc-jp"])
@pytest.mark.parametrize("format", FILES)
@pytest.mark.parametrize("is_named", [True, False])
def test_auto_by_format(format: str, encoding: str, is_named: bool) -> None:
    """Also where the format is found out, too."""
    reader = read(io.BytesIO(FILES[format].encode(encoding)), encoding="auto", format=format if is_named else None)
    (batch,) = reader
    assert (batch["label"].to_pylist(), batch["text"].to_pylist()) == (["ニュース"], ["今日は良い天気です"])
    assert reader.encodings == ({} if encoding.startswith("utf-8") else {encoding: 1})


def test_auto_by_file(tmp_path: Path) -> None:
    for number, encoding in enumerate(["utf-8", "cp932", "utf-8", "cp932", "euc-jp", "utf-16"]):
        (tmp_path / "a").mkdir(exist_ok=True)
        (tmp_path / "a" / f"{number}.txt").write_bytes("今日は良い天気です".encode(encoding))
        (tmp_path / f"{number}.csv").write_bytes(FILES["csv"].encode(encoding))
    for sources, n_docs in ((tmp_path / "a", 6), ([tmp_path / f"{number}.csv" for number in range(6)], 6)):
        reader = read({"x": sources}, encoding="auto")
        texts = [text for _ in range(2) for batch in reader for text in batch["text"].to_pylist()]
        assert texts == ["今日は良い天気です"] * n_docs * 2
        assert reader.encodings == {"cp932": 2, "euc-jp": 1, "utf-16": 1}  # of the last pass alone


def test_auto_of_a_long_file() -> None:
    head, line = b"plain\n" * 200_000, "今日は良い天気です\n"
    assert len(head) > 1 << 20
    with pytest.raises(EncodingError) as caught:
        rows(io.BytesIO(head + line.encode("cp932")), "text", format="lines", labelled=False, encoding="auto")
    assert str(caught.value) == (
        "stream, line 200001: the bytes 8d a1 93 fa are not valid utf-8. "
        "Try encoding='cp932', which reads them as '今日は良い天気です', or latin-1"
    )
    with pytest.raises(EncodingError, match=r"^stream, line 200002: the bytes 81 ff are not valid cp932"):
        data = line.encode("cp932") + head + b"\x81\xff\n"
        rows(io.BytesIO(data), "text", format="lines", labelled=False, encoding="auto", batch_bytes=1000)


def test_auto_where_bad_rows_are_skipped() -> None:
    data = "今日は良い天気です\n".encode("cp932") * 300 + b"\x81\xff\n"
    reader = read(io.BytesIO(data), format="lines", labelled=False, encoding="auto", skip_bad=True)
    assert [text for batch in reader for text in batch["text"].to_pylist()] == ["今日は良い天気です"] * 300
    assert reader.encodings == {"cp932": 1} and reader.n_skipped == 1


def test_auto_leaves_mail_and_parquet_alone(tmp_path: Path) -> None:
    mail = b"Subject: x\nContent-Type: text/plain; charset=shift_jis\n\n" + "今日".encode("cp932")
    table = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": ["今日"]}), table)
    for data, format in ((mail, "eml"), (table.getvalue().to_pybytes(), "parquet")):
        reader = read(io.BytesIO(data), format=format, labelled=False, encoding="auto")
        assert [text.split()[-1] for batch in reader for text in batch["text"].to_pylist()] == ["今日"]
        assert reader.encodings == {}


def test_the_error_of_several_files_names_auto(tmp_path: Path) -> None:
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, encoding in zip(paths, ("utf-8", "cp932"), strict=True):
        path.write_bytes(FILES["csv"].encode(encoding))
    for encoding in ("utf-8", "cp932"):
        with pytest.raises(EncodingError, match=r"\. Where files have different encodings: encoding='auto'$"):
            rows(paths, encoding=encoding)
    with pytest.raises(EncodingError) as caught:
        rows(paths[1])
    assert "auto" not in str(caught.value)


# --- errors


def message(data: bytes, **options: str) -> str:
    with pytest.raises(EncodingError) as caught:
        rows(io.BytesIO(data), format="lines", labelled=False, **options)
    return str(caught.value)


def test_words_of_the_error() -> None:
    assert message("fine\nalso\nun café noir\n".encode("latin-1")) == (
        "stream, line 3: the bytes e9 20 6e 6f are not valid utf-8. "
        "Try encoding='latin-1', which reads them as 'n café noir'"
    )
    assert message("오늘은 날씨가 좋다\n".encode("cp949")) == (
        "stream, line 1: the bytes bf c0 b4 c3 are not valid utf-8. "
        "Try encoding='cp949', which reads them as '오늘은 날씨가 좋다', or gb18030, big5, euc-jp, latin-1"
    )
    assert message("図書館へ行く\n".encode("utf-16")) == (
        "stream, line 1: the bytes ff fe f3 56 are not valid utf-8. "
        "Try encoding='utf-16', which reads them as '図書館へ行く'"
    )
    assert message(b"\x00\x80\n") == (
        "stream, line 1: the bytes 80 are not valid utf-8. No usual encoding fits: is this a text file?"
    )


def test_text_that_is_damaged_only_here() -> None:
    data = "今日は良い天気です\n".encode() + "今日は良い天気です\n".encode()[:-2] + b"\n"
    assert message(data) == (
        "stream, line 2: the bytes e3 81 are not valid utf-8. "
        "The text around them is: repair these bytes, or leave the row out"
    )


def test_text_in_another_encoding_than_named() -> None:
    text = "今日は良い天気です\n".encode()
    assert message(b"fine\n" + text, encoding="ascii").startswith(
        "stream, line 2: the bytes e4 bb 8a e6 are not valid ascii."
    )
    assert "Try encoding='utf-8', which reads them as '今日は良い天気です'" in message(
        b"fine\n" + text, encoding="ascii"
    )


@pytest.mark.parametrize("n_lines", [1, 2000])
def test_line_is_found_in_any_block(n_lines: int) -> None:
    data = "良い天気です\n".encode("cp932") * n_lines + b"\x81\xff\n"
    for batch_bytes in (1, 1000, 1 << 20):
        with pytest.raises(EncodingError, match=f"^stream, line {n_lines + 1}: the bytes 81 ff are not valid cp932"):
            list(read(io.BytesIO(data), format="lines", labelled=False, encoding="cp932", batch_bytes=batch_bytes))


def test_text_that_ends_inside_a_character() -> None:
    data = "良い天気".encode("cp932")[:-1]
    assert message(data, encoding="cp932").startswith("stream, line 1: the bytes 8b are not valid cp932")


@given(st.binary())
def test_is_utf8(data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        assert not is_utf8(data)
        assert str(encoding_error("here", data, error.start, "utf-8")).startswith("here: the bytes ")
    else:
        assert is_utf8(data)
