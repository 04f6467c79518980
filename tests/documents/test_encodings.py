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
from bunrui.documents.encodings import detect, encoding_error, guess_all, is_utf8
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
    wrong = [text for text in SENTENCES[lang] if guess_all(text.encode(encoding, "replace"))[0] != encoding]
    assert wrong == []


def test_guesses_on_other_sentences() -> None:
    for text in TRADITIONAL:
        assert guess_all(text.encode("big5"))[0] == "big5"
    for text in ("Où est le café près de la forêt ?", "Schöne Grüße aus München", "mañana será otro día"):
        assert guess_all(text.encode("cp1252")) == ["cp1252"]
    assert guess_all("﻿Ärger".encode("utf-16")) == ["utf-16"]


# --- auto


@pytest.mark.parametrize(("lang", "encoding"), [("ja", "cp932"), ("ja", "euc-jp"), ("zh", "gb18030"), ("ko", "cp949")])
@pytest.mark.parametrize("ascii", ["", "id,name\n" * 1000])
def test_detected(lang: str, encoding: str, ascii: str) -> None:
    for text in SENTENCES[lang]:
        written = text.encode(encoding, "ignore").decode(encoding)
        assert detect((ascii + written).encode(encoding)) == encoding
        assert detect((ascii + written).encode()) == "utf-8"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_decides(encoding: str) -> None:
    assert detect("今日".encode(encoding)) == encoding.removesuffix("-sig")
    assert detect("今日".encode(encoding) + b"\x81\xff") == encoding.removesuffix("-sig")


def test_a_cut_character_is_no_reason() -> None:
    data = ("x" + "天" * 100).encode()[:-1]
    assert detect(data, is_cut=True) == "utf-8"
    assert detect(("x" + "天気" * 100).encode("cp932")[:-1], is_cut=True) == "cp932"
    assert detect(("x" + "天気" * 100).encode("cp932")[:-1]) == "utf-8"


TEXTS = {
    "ja": ("送料はいくらですか", "id,本文\n1,商品が壊れていました。\n2,PDFの「表」が開けません！\n"),
    "ja-kanji": ("東京都新宿区", "id,name\n1,東京\n2,大阪\n3,神戸\n"),
    "zh-hans": ("今天天气很好", "昨天的比赛非常精彩，主队在最后一分钟进球获胜。\n股市今天大幅上涨\n"),
    "zh-hant": ("今天天氣很好", "昨天的會議決定把圖書館的開放時間延長到晚上十點。\n總統表示將與鄰國討論\n"),
    "ko": ("오늘은 날씨가 좋다", "배송이 빠르고 그 값이 싸다.\n다시는 사지 않을 것이다.\n"),
    "de": ("Grüße", "Schöne Grüße aus München,\nÄRGER mit „Übungen“ in Öl\n"),
    "fr": ("café", "Où est le café près de la forêt ? À côté…\nL’œuvre « naïve » de l’été\n"),
    "es": ("mañana", "¿Qué será mañana? Otro día… ¡Adiós!\nEl niño comió con la abuela\n"),
    "en": ("It’s fine", "It’s fine\nThe company’s best\nI don’t, we’re, you’ve\n"),
    "en-signs": ("“Great”", "“Great” – 5 € • it’s “the one”…\nA dash—here, 20°C, £5 ©\n"),
    "ru": ("привет", "Привет, мир! Сегодня хорошая погода.\nОн купил новую книгу\n"),
    "uk": ("Добрий день", "Це дуже гарна книга.\nЯк справи?\n"),
    "el": ("Καλό", "Το τηλέφωνο είναι πολύ καλό.\nΚαλημέρα, τι κάνεις;\n"),
    "he": ("שלום עולם", "שלום עולם, מה שלומך היום?\n"),
    "th": ("โทรศัพท์ดีมาก", "สวัสดีครับ วันนี้อากาศดีมาก\nสินค้าดีมากส่งเร็ว\n"),
    "tr": ("hızlı", "Çok güzel bir ürün, hızlı geldi, teşekkürler\n"),
    "cs": ("Dobrý den", "Dobrý den, děkuji za rychlé dodání zboží\n"),
    "pl": ("był", "To był świetny zakup i żałuję, że nie kupiłem wcześniej\n"),
    "hu": ("később", "Köszönöm szépen, nagyon jó termék, később is rendelek tőlük\n"),
}
FOUND = [
    *(("ja", name, name) for name in ("cp932", "euc-jp", "iso-2022-jp")),
    ("ja-kanji", "cp932", "cp932"),
    ("ja-kanji", "euc-jp", "utf-8"),
    ("zh-hans", "gb18030", "gb18030"),
    ("zh-hans", "gb2312", "gb18030"),
    ("zh-hant", "big5", "big5"),
    ("ko", "cp949", "cp949"),
    ("ko", "euc-kr", "cp949"),
    *((lang, "cp1252", "cp1252") for lang in ("de", "fr", "es", "en", "en-signs")),
    *((lang, name, "utf-8") for lang in ("ru",) for name in ("cp1251", "koi8-r", "iso-8859-5", "cp866")),
    *((lang, "utf-16", "utf-16") for lang in TEXTS),
    *((lang, "utf-8", "utf-8") for lang in TEXTS),
    *((lang, name, name) for lang in ("de", "fr", "en") for name in ("utf-16-le", "utf-16-be")),
    ("uk", "cp1251", "utf-8"),
    ("el", "cp1253", "utf-8"),
    ("el", "iso-8859-7", "utf-8"),
    ("he", "cp1255", "utf-8"),
    ("th", "cp874", "utf-8"),
    ("tr", "cp1254", "utf-8"),
    ("cs", "cp1250", "utf-8"),
    ("pl", "cp1250", "utf-8"),
    ("hu", "cp1250", "utf-8"),
    ("de", "cp850", "utf-8"),
    ("fr", "mac-roman", "utf-8"),
]


@pytest.mark.parametrize(("lang", "encoding", "found"), FOUND, ids=[f"{lang}-{name}" for lang, name, _ in FOUND])
def test_what_is_found(lang: str, encoding: str, found: str) -> None:
    """UTF-8 where it is another one: it is refused, as reading the file fails, and is never taken for a wrong one."""
    short, long = TEXTS[lang]
    for text in (short, long, long * 50):
        data = text.encode(encoding, "ignore")
        assert detect(data) == found
        if found == "utf-8" != encoding:
            assert not is_utf8(data)


@given(st.text(st.characters(exclude_characters="\0\x1b", exclude_categories=["Cs"])), st.integers(0, 3))
def test_utf8_is_found(text: str, n_cut: int) -> None:
    data = text.encode()
    assert detect(data) == "utf-8"
    assert detect(data[: max(0, len(data) - n_cut)], is_cut=True) == "utf-8"


def test_no_more_than_a_megabyte_is_looked_at() -> None:
    data = "今日は良い天気です\n".encode("cp932")
    assert detect(b"plain\n" * 200_000 + data) == "utf-8"
    for begin in (b"", b"x"):  # with one of them, the megabyte ends inside a character
        assert detect(begin + data * 60_000 + b"\x81\xff") == "cp932"
        assert detect((begin + data * 60_000)[: 1 << 20]) == "cp932"


MIXED = [
    ("Schöne Grüße aus München\n", "Schöne Grüße aus München\n", "cp1252"),
    ("Müller\n", "Schöne Grüße aus München\n", "cp1252"),
    ("商品が壊れていました\n", "送料はいくらですか\n", "cp932"),
    ("商品が壊れていました\n", "Schöne Grüße aus München\n", "cp1252"),
]


@pytest.mark.parametrize(("good", "bad", "encoding"), MIXED)
@pytest.mark.parametrize("at", [0, 2500, 5000])
def test_one_bad_row_does_not_decide(good: str, bad: str, encoding: str, at: int) -> None:
    data = good.encode() * at + bad.encode(encoding) + good.encode() * (5000 - at)
    with pytest.raises(EncodingError, match=rf"^stream, line {at + 1}: the bytes [0-9a-f ]+ are not valid utf-8\. "):
        rows(io.BytesIO(data), "text", format="lines", labelled=False, encoding="auto")
    reader = read(io.BytesIO(data), format="lines", labelled=False, encoding="auto", skip_bad=True)
    assert [text for batch in reader for text in batch["text"].to_pylist()] == [good.strip()] * 5000
    assert reader.encodings == {} and reader.n_skipped == 1


def test_what_is_damaged_is_utf8() -> None:
    text = "今日は良い天気です\n" * 9
    assert detect(text.encode() + b"\xe3\x81\n" + text.encode()) == "utf-8"
    assert detect(text.encode("cp932") * 99 + b"\x81\xff\n") == "utf-8"
    assert detect(text.encode() + "un café\n".encode("latin-1")) == "utf-8"
    assert detect("grün\n".encode() * 9 + "grün\n".encode("cp1252") * 11) == "utf-8"  # nearly half of it is
    assert detect(text.encode("iso-2022-jp") + "un café\n".encode("latin-1")) == "iso-2022-jp"


def test_what_is_no_text_is_utf8() -> None:
    assert detect(b"PK\3\4\0\0\x80\xff") == "utf-8"


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
        "Try encoding='cp932', which reads them as '今日は良い天気です'"
    )
    with pytest.raises(EncodingError, match=r"^stream, line 200002: the bytes 81 ff are not valid cp932"):
        data = line.encode("cp932") + head + b"\x81\xff\n"
        rows(io.BytesIO(data), "text", format="lines", labelled=False, encoding="auto", batch_bytes=1000)


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
    assert message("fine\nalso\nun café noir\n".encode("cp1252")) == (
        "stream, line 3: the bytes e9 20 6e 6f are not valid utf-8. "
        "Try encoding='cp1252', which reads them as 'n café noir'"
    )
    assert message("오늘은 날씨가 좋다\n".encode("cp949")) == (
        "stream, line 1: the bytes bf c0 b4 c3 are not valid utf-8. "
        "Try encoding='cp949', which reads them as '오늘은 날씨가 좋다', or gb18030, big5, euc-jp"
    )
    assert message("図書館へ行く\n".encode("utf-16")) == (
        "stream, line 1: the bytes ff fe f3 56 are not valid utf-8. "
        "Try encoding='utf-16', which reads them as '図書館へ行く'"
    )
    assert message(b"\x00\x80\n") == (
        "stream, line 1: the bytes 80 are not valid utf-8. "
        "No usual encoding fits: name it with encoding= if this is text"
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
        assert str(encoding_error(data, error.start, "utf-8", file="here")).startswith("here: the bytes ")
    else:
        assert is_utf8(data)
