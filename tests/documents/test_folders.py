"""A folder for each class."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from bunrui.documents import read
from bunrui.errors import DataError, EncodingError
from tests.documents.test_reader import rows


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for name, text in {
        "sports/1.txt": "match",
        "sports/deep/er/2.txt": "goal\n",
        "sports/LICENSE.txt": "licence",
        "news/3": "今日",
        "news/README.md": "about",
        "news/.DS_Store": "\0",
        ".git/config": "x",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_folder(corpus: Path) -> None:
    reader = read(corpus, exclude=["LICENSE.txt", "README*"])
    (batch,) = reader
    assert batch.to_pylist() == [
        {"label": label, "text": text, "id": id, "source": str(corpus / id), "line": None}
        for label, text, id in [
            ("news", "今日", "news/3"),
            ("sports", "match", "sports/1.txt"),
            ("sports", "goal\n", "sports/deep/er/2.txt"),
        ]
    ]
    assert reader.bytes_read == reader.bytes_total == len("今日matchgoal\n".encode())


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({}, ["news/3", "news/README.md", "sports/1.txt", "sports/LICENSE.txt", "sports/deep/er/2.txt"]),
        ({"include": "*.txt"}, ["sports/1.txt", "sports/LICENSE.txt", "sports/deep/er/2.txt"]),
        ({"include": ["?.txt", "*.md"], "exclude": "L*"}, ["news/README.md", "sports/1.txt", "sports/deep/er/2.txt"]),
        ({"include": "*.txt", "exclude": ["L*", "sports/deep/*"]}, ["sports/1.txt"]),
    ],
)  # fmt: skip
def test_patterns(corpus: Path, options: dict[str, list[str]], ids: list[str]) -> None:
    assert [id for (id,) in rows(corpus, "id", **options)] == ids


def test_without_labels_or_with_a_given_one(corpus: Path) -> None:
    (corpus / "top.txt").write_text("top")
    texts = [text for (text,) in rows(corpus, "text", labelled=False, include="*.txt")]
    assert texts == ["top", "match", "licence", "goal\n"]
    assert rows({"all": corpus}, include="[1t]*.txt") == [("all", "top"), ("all", "match")]


def test_batches_are_bounded(corpus: Path) -> None:
    assert [batch.num_rows for batch in read(corpus, batch_bytes=6)] == [2, 2, 1]


def test_compressed_and_encoded_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.txt.gz").write_bytes(gzip.compress("今日".encode("cp932")))
    (tmp_path / "a" / "2.txt").write_bytes("明日".encode("cp932"))
    assert rows(tmp_path, encoding="cp932") == [("a", "今日"), ("a", "明日")]
    (tmp_path / "a" / "1.txt.gz").unlink()
    (tmp_path / "a" / "2.txt").write_bytes(b"\xef\xbb\xbfx")
    assert rows(tmp_path) == [("a", "x")]


def test_mail_in_folders(tmp_path: Path) -> None:
    (tmp_path / "spam").mkdir()
    (tmp_path / "spam" / "1.eml").write_bytes(b"Subject: =?utf-8?q?caf=C3=A9?=\n\nwin")
    (tmp_path / "spam" / "2").write_bytes(b"Subject: two\nMessage-ID: <2@x>\n\nlose")
    assert rows(tmp_path) == [("spam", "café\n\nwin"), ("spam", "Subject: two\nMessage-ID: <2@x>\n\nlose")]
    found = rows(tmp_path, "label", "text", "id", format="eml")
    assert found == [("spam", "café\n\nwin", None), ("spam", "two\n\nlose", "<2@x>")]


def test_a_dot_behind_the_suffix_of_a_mail(tmp_path: Path) -> None:
    (tmp_path / "spam").mkdir()
    (tmp_path / "spam" / "1.eml.").write_bytes(b"Subject: one\n\nwin")
    assert rows(tmp_path) == [("spam", "Subject: one\n\nwin")]


# --- errors


def test_file_in_no_class(corpus: Path) -> None:
    (corpus / "CHANGES").write_text("top")
    with pytest.raises(DataError) as caught:
        rows(corpus)
    assert str(caught.value) == (
        f"{corpus}/CHANGES stands in no folder of a class: move it into one, or leave it out with exclude='CHANGES'"
    )


def test_folder_of_one_class(corpus: Path) -> None:
    root = corpus / "news"
    with pytest.raises(DataError) as caught:
        rows(root)
    assert str(caught.value) == (
        f"{root} has files and no folders of classes: give all of them one label with {{'news': '{root}'}}, "
        f"or read the folder above, '{corpus}', if the folders in it are the labels"
    )
    assert rows({"news": str(root)}, exclude="README*") == [("news", "今日")]


def test_folder_of_one_class_that_is_the_current_one(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(corpus / "news")
    with pytest.raises(DataError, match=r"with \{'news': '\.'\}, or read the folder above, '\.\.', if"):
        rows(".")


def test_no_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    expected = "a folder for each class was expected, with a file for each text"
    with pytest.raises(DataError) as caught:
        rows(tmp_path)
    assert str(caught.value) == f"{tmp_path} has no files: {expected}"
    with pytest.raises(DataError) as caught:
        rows(tmp_path, include="*.txt")
    assert str(caught.value) == f"{tmp_path} has no files that include and exclude leave: {expected}"


def test_bad_bytes(corpus: Path) -> None:
    path = corpus / "sports" / "1.txt"
    path.write_bytes(b"one\n" + "図書館へ行く".encode("cp932"))
    with pytest.raises(EncodingError) as caught:
        rows(corpus)
    assert str(caught.value) == (
        f"{path}, line 2: the bytes 90 7d 8f 91 are not valid utf-8. "
        "Try encoding='cp932', which reads them as '図書館へ行く'. "
        "Where files have different encodings: encoding='auto'"
    )
    reader = read(corpus, skip_bad=True)
    assert sum(batch.num_rows for batch in reader) == 4
    assert reader.skipped == [str(caught.value)]


def test_file_that_is_too_long(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bunrui.documents.sources.MAX_RECORD", 1 << 20)
    (corpus / "news" / "4").write_bytes(b"x" * (2 << 20))
    with pytest.raises(DataError) as caught:
        rows(corpus)
    assert str(caught.value) == f"{corpus}/news/4: this is one document of more than 1 MB: give its format with format="


@pytest.mark.skipif(os.name != "posix", reason="needs file names that are bytes")
def test_names_in_other_encodings(tmp_path: Path) -> None:
    folder = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("the file system wants UTF-8")
    with open(os.path.join(folder, b"1.txt"), "wb") as file:
        file.write(b"x")
    with pytest.raises(DataError, match=r"the label has .udce9, half of a character, at character 4: mend it$"):
        rows(tmp_path)
    assert rows(tmp_path, "text", labelled=False) == [("x",)]
