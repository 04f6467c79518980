"""Each reader on a small file in the publisher's format."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from bunrui.datasets import CORPORA
from bunrui.datasets.archives import Member, members
from bunrui.datasets.publishers import read_arff
from bunrui.errors import DataError, EncodingError

Rows = dict[str, list[tuple[str | list[str], str]]]


def read(name: str, files: dict[str, bytes]) -> Rows:
    def found() -> Iterator[Member]:
        for path, data in files.items():
            yield Member("archive", tuple(path.split("/")), lambda data=data: data)

    tables = CORPORA[name].read(found())
    assert all(table.column_names == ["label", "text"] for table in tables.values())
    return {split: list(zip(*table.to_pydict().values(), strict=True)) for split, table in tables.items()}


def test_newsgroups() -> None:
    message = "From: a@b.c (Jürgen)\nSubject: Re: bikes\n\nHello\n".encode("latin-1")
    files = {
        "20news-bydate-test/rec.motorcycles/104600": b"later",
        "20news-bydate-train/rec.motorcycles/104385": message,
        "20news-bydate-train/alt.atheism/49960": b"first",
    }
    assert read("20news", files) == {
        "test": [("rec.motorcycles", "later")],
        "train": [("alt.atheism", "first"), ("rec.motorcycles", message.decode("latin-1"))],
    }


def test_imdb() -> None:
    files = {
        "aclImdb/imdb.vocab": b"the\n",
        "aclImdb/test/pos/0_10.txt": "Très bien.<br /><br />10/10".encode(),
        "aclImdb/test/urls_pos.txt": b"http://www.imdb.com/title/tt0406816/usercomments\n",
        "aclImdb/train/labeledBow.feat": b"9 0:9 1:1\n",
        "aclImdb/train/unsup/0_0.txt": b"no label",
        "aclImdb/train/pos/1_7.txt": b"good",
        "aclImdb/train/neg/0_3.txt": b"bad",
    }
    assert read("imdb", files) == {
        "test": [("pos", "Très bien.<br /><br />10/10")],
        "train": [("neg", "bad"), ("pos", "good")],
    }


def test_text_that_is_not_of_its_encoding() -> None:
    with pytest.raises(EncodingError, match=r"archive, train/pos/1_7.txt: byte 2 is not valid utf-8"):
        read("imdb", {"train/pos/1_7.txt": b"go\xffd"})


def test_livedoor() -> None:
    article = "http://news.livedoor.com/article/detail/1/\n2010-05-22T14:30:00+0900\n題名\n本文一\n\n本文二\n"
    files = {
        "text/README.txt": b"readme",
        "text/CHANGES.txt": b"changes",
        "text/it-life-hack/LICENSE.txt": b"licence",
        "text/it-life-hack/it-life-hack-6292880.txt": article.encode(),
    }
    assert read("livedoor", files) == {"all": [("it-life-hack", "題名\n本文一\n\n本文二\n")]}
    with pytest.raises(DataError, match=r"2 lines are expected before the text"):
        read("livedoor", {"text/peachy/peachy-1.txt": b"http://news.livedoor.com/"})


def test_enron() -> None:
    files = {
        "enron1/Summary.txt": b"Legitimate",
        "enron1/spam/0006.2003-12-18.GP.spam.txt": b"Subject: dobmeos\r\nget it for \x80 5 \x97 now\r\n",
        "enron1/ham/0001.1999-12-10.farmer.ham.txt": b"Subject: christmas tree farm pictures\r\n",
        "enron2/ham/0001.1999-12-10.kaminski.ham.txt": b"Subject: re : rankings",
    }
    assert read("enron", files) == {
        "enron1": [
            ("ham", "Subject: christmas tree farm pictures\r\n"),
            ("spam", "Subject: dobmeos\r\nget it for \x80 5 \x97 now\r\n"),
        ],
        "enron2": [("ham", "Subject: re : rankings")],
    }


def test_nsmc() -> None:
    train = 'id\tdocument\tlabel\n9976970\t아 더빙.. 진짜 짜증나네요 목소리\t0\n2\t"괜찮다\t1\n3\t\t1\n'
    test = "id\tdocument\tlabel\n6270596\t굳 ㅋ\t1\n"
    files = {"ratings_train.txt": train.encode(), "ratings_test.txt": test.encode(), "ratings.txt": b"all"}
    assert read("nsmc", files) == {
        "train": [("0", "아 더빙.. 진짜 짜증나네요 목소리"), ("1", '"괜찮다'), ("1", "")],
        "test": [("1", "굳 ㅋ")],
    }


def test_sms() -> None:
    lines = 'ham\tGo until jurong point, crazy..\nspam\tFree £1,000 "cash" prize\nham\t"Ok\n'
    assert read("sms", {"SMSSpamCollection": lines.encode(), "readme": b"readme"}) == {
        "all": [("ham", "Go until jurong point, crazy.."), ("spam", 'Free £1,000 "cash" prize'), ("ham", '"Ok')]
    }
    said = r"archive, SMSSpamCollection \(with a header before it\), line 3: .* 1 found: this is not the official file$"
    with pytest.raises(DataError, match=said):
        read("sms", {"SMSSpamCollection": b"ham\tone\nspam only\n"})


def test_agnews() -> None:
    rows = (
        '"3","Fears for T N pension after talks","Unions say they are ""disappointed"", again."\n'
        '"4","The Race is On","A second\\team of rocketeers"\n'
    )
    assert read("agnews", {"ag_news_csv/train.csv": rows.encode(), "test.csv": b'"1","a","b"\n"2","",""\n'}) == {
        "train": [
            ("Business", 'Fears for T N pension after talks\nUnions say they are "disappointed", again.'),
            ("Sci/Tech", "The Race is On\nA second\\team of rocketeers"),
        ],
        "test": [("World", "a\nb"), ("Sports", "\n")],
    }
    assert list(read("agnews", {name: b'"1","a","b"\n' for name in ("train.csv", "dev.csv", "test.csv")})) == [
        "train",
        "test",
    ]
    with pytest.raises(DataError, match=r"there is no class '5': this is not the official file"):
        read("agnews", {"test.csv": b'"5","a","b"\n'})


def test_goemotions() -> None:
    rows = (
        "It's wonderful because it's awful.\t0\ted5f85d\n"
        "[NAME] has towed the line.\t3,10\teeaf7fg\n"
        '"""We need more content."" ""OK."""\t27\teexh9wg\n'
    )
    assert read("goemotions", {"train.tsv": rows.encode(), "dev.tsv": b"dev\t26\tx\n", "emotions.txt": b"joy"}) == {
        "train": [
            (["admiration"], "It's wonderful because it's awful."),
            (["annoyance", "disapproval"], "[NAME] has towed the line."),
            (["neutral"], '"We need more content." "OK."'),
        ],
        "dev": [(["surprise"], "dev")],
    }
    with pytest.raises(DataError, match=r"there is no class '28'"):
        read("goemotions", {"train.tsv": b"text\t28\tx\n"})


SGML = """<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5548" NEWID="5">
<DATE>26-FEB-1987 15:10:44.60</DATE>
<TOPICS><D>grain</D><D>wheat</D></TOPICS>
<PLACES><D>usa</D></PLACES>
<UNKNOWN>
&#5;&#5;&#5;C G
&#22;&#22;&#1;f0738&#31;reute</UNKNOWN>
<TEXT>&#2;
<TITLE>STANDARD OIL &lt;SRD> &amp; BP</TITLE>
<AUTHOR>    by Janie Gabbett, Reuters</AUTHOR>
<DATELINE>    CLEVELAND, Feb 26 - </DATELINE><BODY>Prices rose 5 pct, S&amp;P said \xfc.
    &lt;BODY> is no tag, R&D; no entity.
 Reuter
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="NO" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5545" NEWID="6">
<TOPICS></TOPICS><TEXT><TITLE>NOT SEEN BY AN INDEXER</TITLE></TEXT>
</REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="NOT-USED" CGISPLIT="TRAINING-SET" OLDID="1" NEWID="7">
<TOPICS><D>earn</D></TOPICS><TEXT><TITLE>NOT USED</TITLE></TEXT>
</REUTERS>
<REUTERS TOPICS="BYPASS" LEWISSPLIT="TEST" CGISPLIT="TRAINING-SET" OLDID="1" NEWID="8">
<TOPICS><D>earn</D></TOPICS><TEXT><TITLE>PASSED BY</TITLE></TEXT>
</REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="TEST" CGISPLIT="TRAINING-SET" OLDID="20436" NEWID="14826">
<TOPICS></TOPICS>
<PLACES><D>japan</D></PLACES>
<TEXT TYPE="UNPROC">&#2;
Blah blah   1,000   2,000
&#3;</TEXT>
</REUTERS>
"""


def test_reuters() -> None:
    files = {"reut2-000.sgm": SGML.encode("latin-1"), "lewis.dtd": b"<!DTD>", "README.txt": b"<REUTERS TOPICS="}
    body = "Prices rose 5 pct, S&P said ü.\n    <BODY> is no tag, R&D; no entity.\n Reuter"
    head = "STANDARD OIL <SRD> & BP\n\n\n    by Janie Gabbett, Reuters\n\n\n    CLEVELAND, Feb 26 - \n\n"
    assert read("reuters", files) == {
        "train": [(["grain", "wheat"], head + body)],
        "test": [([], "Blah blah   1,000   2,000")],
    }


@pytest.mark.parametrize(
    ("entity", "text"),
    [("&#65;", "A"), ("&#0;", ""), ("&#128;", ""), ("&#150;", ""), ("&#160;", "\xa0"), ("&#55296;", "\ufffd")],
)
def test_characters_of_reuters(entity: str, text: str) -> None:
    sgml = f'<REUTERS TOPICS="YES" LEWISSPLIT="TEST" NEWID="1"><TOPICS></TOPICS><TEXT>a{entity}b</TEXT></REUTERS>'
    assert read("reuters", {"reut2-000.sgm": sgml.encode()}) == {"test": [([], f"a{text}b")]}


def test_reuters_cut_short() -> None:
    with pytest.raises(DataError, match=r"archive, reut2-000.sgm: document 5 is cut short"):
        read("reuters", {"reut2-000.sgm": SGML.encode("latin-1")[:-20]})


@pytest.mark.data
def test_the_livedoor_corpus(data_folder: Path) -> None:
    table = CORPORA["livedoor"].read(members(data_folder / "livedoor" / "livedoor.tar.xz"))["all"]
    assert table.num_rows == CORPORA["livedoor"].rows["all"]
    assert len(table["label"].unique()) == CORPORA["livedoor"].n_labels


# --- tables


def read_table(name: str, files: dict[str, str]) -> dict[str, pa.Table]:
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
    parts = read_table("adult", {"adult.data": ADULT + "\n", "adult.test": "|1x3 Cross validator\n" + test})
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
    (table,) = read_table(f"uci-{name}", {file: f"{line}\n\n{line}\n"}).values()
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
    found = read_table(f"uci-{name}", {f"other-{file}": arff.format("b"), file: arff.format("a")})
    assert found["all"].to_pydict() == {"label": ["a"], "x": [1.0]}


def test_columns_are_called_after_their_places() -> None:
    (table,) = read_table("uci-breast.w", {"breast-cancer-wisconsin.data": "1000025,5,1,?,2\n"}).values()
    assert table.column_names == ["label", "c2", "c3", "c4"]


def test_a_column_is_a_number_in_all_splits_or_in_none() -> None:
    parts = read_table("uci-soybean", {"soybean-large.data": "rot,6,0\n", "soybean-large.test": "rust,?,none\n"})
    assert parts["train"].schema == parts["test"].schema
    assert parts["train"].to_pylist() == [{"label": "rot", "c2": 6.0, "c3": "0"}]
    assert parts["test"].to_pylist() == [{"label": "rust", "c2": None, "c3": "none"}]


def test_rows_of_different_lengths() -> None:
    with pytest.raises(DataError, match=r"archive, iris.data, line 3: 3 columns expected, not 2"):
        read_table("uci-iris", {"iris.data": "1,2,a\n\n1,b\n"})


@pytest.mark.parametrize(
    ("name", "files", "what"),
    [
        ("uci-iris", {"iris.data": "\n"}, "archive, iris.data: there are no rows"),
        ("adult", {"adult.data": "39, State-gov, <=50K\n"}, "archive, adult.data: 15 columns expected, not 3"),
        (
            "uci-soybean",
            {"soybean-large.data": "rot,6,0\n", "soybean-large.test": "rust,1\n"},
            "archive, soybean-large.test: the columns are not those of the other files: this is not",
        ),
    ],
)
def test_tables_that_are_not_what_they_should_be(name: str, files: dict[str, str], what: str) -> None:
    with pytest.raises(DataError, match=what):
        read_table(name, files)


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
    (table,) = read_table(
        "uci-labor", {"labor.arff": ARFF.replace("it''s", "it\\'s"), "vowel.arff": "not looked at"}
    ).values()
    assert table.to_pylist() == [
        {"label": "yes", "it's": "a b", "width": 1.5},
        {"label": "no", "it's": "c", "width": None},
    ]


def test_a_question_mark_in_quotes_is_a_value() -> None:
    anneal = "@attribute family {'?',GB}\n@attribute class {1}\n@data\n'?',1\n?,1\n\"?\",1\nGB,1\n"
    found = read_table("uci-anneal", {"anneal.arff": anneal})["all"]
    assert found["family"].to_pylist() == ["?", None, "?", "GB"]


def test_arff_in_place_of_the_official_file() -> None:
    wine = "@attribute class {1,2}\n@attribute Alcohol real\n@data\n1,14.2\n"
    assert read_table("uci-wine", {"wine.arff": wine})["all"].to_pylist() == [{"label": "1", "Alcohol": 14.2}]
    spect = "@attribute OVERALL_DIAGNOSIS {0,1}\n@attribute F1 {0,1}\n@data\n1,0\n"
    parts = read_table("uci-spect", {"spect.train.arff": spect, "spect.test.arff": spect})
    assert parts["test"].to_pylist() == [{"label": "1", "F1": "0"}]
    glass = "@attribute RI real\n@attribute Type {a,b}\n@data\n1.5,a\n"
    assert read_table("uci-glass", {"glass.arff": glass})["all"].to_pylist() == [{"label": "a", "RI": 1.5}]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1,2\n", ": this is not ARFF: there is no line with @attribute before @data"),
        ("@attribute\n@data\n", ", line 1: this is no attribute of ARFF"),
        ("@attribute a real\n@attribute b {x}\n@data\n1\n", ", line 4: 2 columns expected, not 1"),
        ("@attribute a real\n@attribute b {x}\n@data\n\nx,x\n", ", line 5: 'x' is no number, as 'a' should be"),
    ],
)
def test_bad_arff(text: str, what: str) -> None:
    with pytest.raises(DataError, match=f"archive, labor.arff{what}"):
        read_table("uci-labor", {"labor.arff": text})


# --- the tables that benchmarks/aode.py compares classifiers on


@pytest.mark.data
@pytest.mark.slow  # 67 tables; adult and small ones are read in other tests
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
