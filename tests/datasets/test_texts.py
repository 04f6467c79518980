"""Each reader on a small file in the publisher's format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bunrui.datasets import CORPORA
from bunrui.datasets.archives import Member, members
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
    with pytest.raises(DataError, match=r"address, date and title are expected, a line each"):
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


def test_reuters_cut_short() -> None:
    with pytest.raises(DataError, match=r"archive, reut2-000.sgm: document 5 is cut short"):
        read("reuters", {"reut2-000.sgm": SGML.encode("latin-1")[:-20]})


@pytest.mark.data
def test_the_livedoor_corpus(data_folder: Path) -> None:
    table = CORPORA["livedoor"].read(members(data_folder / "livedoor" / "livedoor.tar.xz"))["all"]
    assert table.num_rows == CORPORA["livedoor"].rows["all"]
    assert len(table["label"].unique()) == CORPORA["livedoor"].n_labels
