from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from bunrui.datasets import CORPORA
from bunrui.datasets.archives import Member, members
from bunrui.datasets.columns import read_arff
from bunrui.errors import DataError


def read(name: str, files: dict[str, str]) -> dict[str, pa.Table]:
    def found() -> Iterator[Member]:
        for path, text in files.items():
            yield Member("archive", (path,), lambda text=text: text.encode())

    return CORPORA[name].read(found())


ADULT = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, "
    "United-States, <=50K\n"
)


def test_adult() -> None:
    test = ADULT.replace("<=50K", ">50K.").replace("State-gov", "?")
    parts = read("adult", {"adult.data": ADULT + "\n", "adult.test": "|1x3 Cross validator\n" + test})
    (train,), (later,) = (parts[split].to_pylist() for split in ("train", "test"))
    assert list(train.items())[:4] == [
        ("label", "<=50K"),
        ("age", 39.0),
        ("workclass", "State-gov"),
        ("fnlwgt", 77516.0),
    ]
    assert train["native-country"] == "United-States" and len(train) == 15
    assert (later["label"], later["workclass"]) == (">50K", None)


@pytest.mark.parametrize(
    ("name", "file", "line", "row"),
    [
        ("iris", "iris.data", "5.1,3.5,1.4,0.2,Iris-setosa", ("Iris-setosa", 5.1, 3.5, 1.4, 0.2)),
        ("wine", "wine.data", "1,14.23,1.71", ("1", 14.23, 1.71)),
        ("glass", "glass.data", "1,1.52101,13.64,1", ("1", 1.52101, 13.64)),
        ("ecoli", "ecoli.data", "AAT_ECOLI   0.49  0.29  cp", ("cp", 0.49, 0.29)),
        ("vote", "house-votes-84.data", "republican,n,?,y", ("republican", "n", None, "y")),
        ("pendigits", "pendigits.tra", " 47,100, 27, 8", ("8", 47.0, 100.0, 27.0)),
        ("tae", "tae.data", "1,23,3,1,19,3", ("3", 1.0, 23.0, 3.0, 1.0, 19.0)),
    ],
)
def test_uci(name: str, file: str, line: str, row: tuple[str | float | None, ...]) -> None:
    (table,) = read(f"uci-{name}", {file: f"{line}\n\n{line}\n"}).values()
    assert [tuple(each.values()) for each in table.to_pylist()] == [row, row]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("heart.c", "heart-c.arff"),
        ("anneal.orig", "anneal.ORIG.arff"),
        ("waveform5000", "waveform-5000.arff"),
        ("solar.flare1", "solar-flare_1.arff"),
        ("breast.w", "breast-w.arff"),
    ],
)
def test_arff_files_go_by_several_names(name: str, file: str) -> None:
    arff = "@attribute x real\n@attribute Class {{a,b}}\n@data\n1,{}\n"
    found = read(f"uci-{name}", {f"other-{file}": arff.format("b"), file: arff.format("a")})
    assert found["all"].to_pydict() == {"label": ["a"], "x": [1.0]}


def test_columns_are_called_after_their_places() -> None:
    (table,) = read("uci-breast.w", {"breast-cancer-wisconsin.data": "1000025,5,1,?,2\n"}).values()
    assert table.column_names == ["label", "c2", "c3", "c4"]


def test_a_column_is_a_number_in_all_splits_or_in_none() -> None:
    parts = read("uci-soybean", {"soybean-large.data": "rot,6,0\n", "soybean-large.test": "rust,?,none\n"})
    assert parts["train"].schema == parts["test"].schema
    assert parts["train"].to_pylist() == [{"label": "rot", "c2": 6.0, "c3": "0"}]
    assert parts["test"].to_pylist() == [{"label": "rust", "c2": None, "c3": "none"}]


def test_rows_of_different_lengths() -> None:
    with pytest.raises(DataError, match=r"archive, iris.data, line 3: 3 columns expected, not 2"):
        read("uci-iris", {"iris.data": "1,2,a\n\n1,b\n"})


@pytest.mark.parametrize(
    ("name", "files", "what"),
    [
        ("uci-iris", {"iris.data": "\n"}, "archive, iris.data has no rows"),
        ("adult", {"adult.data": "39, State-gov, <=50K\n"}, "archive, adult.data: 15 columns expected, not 3"),
        (
            "uci-soybean",
            {"soybean-large.data": "rot,6,0\n", "soybean-large.test": "rust,1\n"},
            "archive, soybean-large.test: the columns are not those of the other files of this table",
        ),
    ],
)
def test_tables_that_are_not_what_they_should_be(name: str, files: dict[str, str], what: str) -> None:
    with pytest.raises(DataError, match=what):
        read(name, files)


ARFF = """% a comment
@RELATION 'a table'
@attribute 'it''s' {'a b', c}
@ATTRIBUTE width\tREAL
@attribute Class { 'yes', 'no' }
@data
% another
'a b', 1.5, 'yes'
c,?,no
"""


def test_arff() -> None:
    (table,) = read(
        "uci-labor", {"labor.arff": ARFF.replace("it''s", "it\\'s"), "vowel.arff": "not looked at"}
    ).values()
    assert table.to_pylist() == [
        {"label": "yes", "it's": "a b", "width": 1.5},
        {"label": "no", "it's": "c", "width": None},
    ]


def test_a_question_mark_in_quotes_is_a_value() -> None:
    anneal = "@attribute family {'?',GB}\n@attribute class {1}\n@data\n'?',1\n?,1\n\"?\",1\nGB,1\n"
    found = read("uci-anneal", {"anneal.arff": anneal})["all"]
    assert found["family"].to_pylist() == ["?", None, "?", "GB"]


def test_arff_in_place_of_the_official_file() -> None:
    wine = "@attribute class {1,2}\n@attribute Alcohol real\n@data\n1,14.2\n"
    assert read("uci-wine", {"wine.arff": wine})["all"].to_pylist() == [{"label": "1", "Alcohol": 14.2}]
    spect = "@attribute OVERALL_DIAGNOSIS {0,1}\n@attribute F1 {0,1}\n@data\n1,0\n"
    parts = read("uci-spect", {"spect.train.arff": spect, "spect.test.arff": spect})
    assert parts["test"].to_pylist() == [{"label": "1", "F1": "0"}]
    glass = "@attribute RI real\n@attribute Type {a,b}\n@data\n1.5,a\n"
    assert read("uci-glass", {"glass.arff": glass})["all"].to_pylist() == [{"label": "a", "RI": 1.5}]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1,2\n", "this is not ARFF: there is no line with @attribute before @data"),
        ("@attribute\n@data\n", "line 1: this is no attribute of ARFF"),
        ("@attribute a real\n@attribute b {x}\n@data\n1\n", "line 4: 2 values expected, not 1"),
        ("@attribute a real\n@attribute b {x}\n@data\n\nx,x\n", "line 5: 'x' is no number, as 'a' should be"),
    ],
)
def test_bad_arff(text: str, what: str) -> None:
    with pytest.raises(DataError, match=f"archive, labor.arff: {what}"):
        read("uci-labor", {"labor.arff": text})


# --- the tables that benchmarks/aode.py compares classifiers on


@pytest.mark.data
def test_every_table_of_the_benchmark_is_known_and_read(data_folder: Path) -> None:
    n_tables = 0
    for member in members(data_folder / "uci" / "uci.tar.xz"):
        if not member.name.endswith(".arff"):
            continue
        n_tables += 1
        short = member.name.removesuffix(".arff")
        data = member.read()
        found = read_arff(data.decode("utf-8", "replace"))
        assert found.rows, short
        if short == "spectrometer":  # its class is a number
            assert f"uci-{short}" not in CORPORA
            continue
        known = CORPORA[f"uci-{short.removesuffix('.train').removesuffix('.test')}"]
        copy = Member("archive", (member.name,), lambda data=data: data)
        parts = known.read(iter([copy]))
        if short in ("optdigits", "pendigits", "soybean"):  # not cut into training and test set
            assert not parts
            continue
        (table,) = parts.values()
        n_labelled = sum(
            row[0 if short.startswith(("wine", "spect.", "spectf.")) else -1] is not None for row in found.rows
        )
        assert (table.num_rows, table.num_columns) == (n_labelled, len(found.names)), short
        assert 1 < len(table["label"].unique()) <= 60, short
    assert n_tables == 67


@pytest.mark.data
def test_adult_is_the_official_file(data_folder: Path) -> None:
    import hashlib

    with tarfile.open(data_folder / "uci" / "uci.tar.xz") as archive:
        train, test = (archive.extractfile(f"uci_adult/adult-{part}.csv") for part in ("train", "test"))
        assert train is not None and test is not None
        data = [train.read(), b"|1x3 Cross validator\n" + test.read()]
    assert [hashlib.sha256(each).hexdigest() for each in data] == [file.sha256 for file in CORPORA["adult"].files]
    assert [len(each) for each in data] == [file.n_bytes for file in CORPORA["adult"].files]
