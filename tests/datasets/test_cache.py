from __future__ import annotations

import hashlib
import os
import signal
from pathlib import Path, PurePath

import pyarrow.parquet as pq
import pytest

import bunrui
from bunrui import datasets
from bunrui.datasets import CORPORA
from bunrui.datasets.corpora import user_cache
from bunrui.errors import DataError, OptionError

SMS = "ham\tOk lar...\nspam\tFree entry in 2 a wkly comp\nham\tü there?\n"
REUTERS = (
    '<REUTERS TOPICS="YES" LEWISSPLIT="{split}"><TOPICS>{topics}</TOPICS><TEXT><BODY>{body}</BODY></TEXT></REUTERS>'
)


@pytest.fixture
def sms(zipped) -> bytes:
    return zipped({"SMSSpamCollection": SMS.encode(), "readme": b"readme"})


def there(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


COMPLETE = [".lock", "all.parquet", "smsspamcollection.zip", "smsspamcollection.zip.sha256"]


# --- downloads


def test_fetch_and_load(server, publish, store: Path, sms: bytes) -> None:
    publish("sms", sms)
    notices: list[str] = []
    home = datasets.fetch("sms", notice=notices.append)
    assert home == store / "sms" == datasets.path("sms")
    assert there(home) == COMPLETE
    table = datasets.load("sms")
    assert table.equals(datasets.load("sms", "all"))
    assert table.to_pydict() == {
        "label": ["ham", "spam", "ham"],
        "text": ["Ok lar...", "Free entry in 2 a wkly comp", "ü there?"],
    }
    assert notices == ["sms, all: 3 documents, where the official corpus has 5,574"]
    datasets.fetch("sms")
    assert len(server.asked) == 1, "what is there is not downloaded again"
    clf = bunrui.TextClassifier().learn(table["text"], table["label"].to_pylist())
    assert clf.counts.n_docs == 3


def test_splits(publish, store: Path) -> None:
    tsv = "{0} one\t0\tx\n{0} two\t1,27\tx\n"
    publish("goemotions", *(tsv.format(split).encode() for split in ("train", "dev", "test")))
    home = datasets.fetch("goemotions")
    assert {"train.parquet", "dev.parquet", "test.parquet"} <= set(there(home))
    assert datasets.load("goemotions", "dev").to_pydict() == {
        "label": [["admiration"], ["amusement", "neutral"]],
        "text": ["dev one", "dev two"],
    }
    assert datasets.load("goemotions")["text"].to_pylist()[::2] == ["train one", "dev one", "test one"]
    with pytest.raises(OptionError, match=r"goemotions has no split 'valid': choose one of train, dev, test, all"):
        datasets.load("goemotions", "valid")


def test_no_official_split(publish, store: Path, sms: bytes) -> None:
    publish("sms", sms)
    datasets.fetch("sms")
    with pytest.raises(OptionError, match=r"sms has no split 'train': choose one of all"):
        datasets.load("sms", "train")


def test_documents_without_a_label_have_their_own_file(publish, store: Path, tar) -> None:
    documents = [
        REUTERS.format(split="TRAIN", topics="", body="one"),
        REUTERS.format(split="TRAIN", topics="<D>earn</D><D>acq</D>", body="two"),
        REUTERS.format(split="TEST", topics="<D>acq</D>", body="three"),
    ]
    publish("reuters", tar({"reut2-000.sgm": "\n".join(documents).encode()}))
    home = datasets.fetch("reuters")
    files = ["test.parquet", "train-unlabelled.parquet", "train.parquet"]
    assert [name for name in there(home) if name.endswith(".parquet")] == files
    table = datasets.load("reuters", "train")
    assert table.to_pydict() == {"label": [["earn", "acq"]], "text": ["two"]}
    assert pq.read_table(home / "train-unlabelled.parquet").to_pydict() == {"label": [[]], "text": ["one"]}
    assert datasets.load("reuters")["text"].to_pylist() == ["two", "three"]
    with bunrui.create(str(store / "x.bunrui")) as clf:
        clf.learn(table["text"], table["label"])
        assert clf.info()["labels"] == {"acq": 1, "earn": 1}


def test_a_cut_download_leaves_nothing_under_the_final_name(server, publish, store: Path, sms: bytes) -> None:
    publish("sms", sms)
    server.cut = 100
    with pytest.raises(DataError, match=r"the connection was cut after 100 of"):
        datasets.fetch("sms")
    assert there(store / "sms") == [".lock", "smsspamcollection.zip.part", "smsspamcollection.zip.part.tag"]
    with pytest.raises(DataError, match=r"sms is not in .*sms: get it with bunrui.datasets.fetch\('sms'\)"):
        datasets.load("sms")
    datasets.fetch("sms")
    assert server.asked[1] == ("smsspamcollection.zip", "bytes=100-")
    assert there(store / "sms") == COMPLETE


def test_a_wrong_hash(server, publish, store: Path, sms: bytes) -> None:
    publish("sms", sms)
    server.files["smsspamcollection.zip"] = sms[:-1] + b"!"
    found, expected = (hashlib.sha256(data).hexdigest() for data in (sms[:-1] + b"!", sms))
    with pytest.raises(DataError, match=f"and was removed: its SHA-256 is {found}, not {expected}: see "):
        datasets.fetch("sms")
    assert there(store) == [], "a folder in which nothing is does not stay"
    server.files["smsspamcollection.zip"] = sms
    datasets.fetch("sms")
    assert there(store / "sms") == COMPLETE


def test_the_hash_of_the_first_download_is_remembered(server, publish, store: Path, sms: bytes, zipped) -> None:
    publish("sms", sms, known=False)
    home = datasets.fetch("sms")
    remembered = home / "smsspamcollection.zip.sha256"
    assert remembered.read_text() == f"{hashlib.sha256(sms).hexdigest()}  smsspamcollection.zip\n"
    (home / "smsspamcollection.zip").unlink()
    (home / "all.parquet").unlink()
    server.files["smsspamcollection.zip"] = zipped({"SMSSpamCollection": b"ham\tanother version\n"})
    with pytest.raises(DataError, match=r"is not the file that is expected, .*; to take it, delete .*zip.sha256"):
        datasets.fetch("sms")
    remembered.unlink()
    datasets.fetch("sms")
    assert datasets.load("sms")["text"].to_pylist() == ["another version"]


@pytest.mark.parametrize("known", [True, False])
def test_a_file_that_was_damaged_later(publish, store: Path, sms: bytes, known: bool) -> None:
    publish("sms", sms, known=known)
    home = datasets.fetch("sms")
    (home / "smsspamcollection.zip").write_bytes(b"damaged")
    with pytest.raises(DataError, match=r"has changed since it came .*, and was removed: fetch it again"):
        datasets.fetch("sms")
    assert not (home / "smsspamcollection.zip").exists()
    datasets.fetch("sms")
    assert there(home) == COMPLETE and (home / "smsspamcollection.zip").read_bytes() == sms


def test_an_archive_that_is_cut_short_at_the_publisher(server, publish, store: Path, tar) -> None:
    whole = tar({f"20news-bydate-{split}/sci.space/1": os.urandom(9999) for split in ("train", "test")})
    publish("20news", whole[:-99], known=False)
    with pytest.raises(
        DataError, match=r"20news-bydate.tar.gz: this is damaged or cut short.* is removed: fetch again"
    ):
        datasets.fetch("20news")
    assert there(store) == []
    server.files["20news-bydate.tar.gz"] = whole
    datasets.fetch("20news")
    assert datasets.load("20news", "test").num_rows == 1


def test_a_damaged_file_that_the_user_placed_is_never_removed(publish, store: Path, tar) -> None:
    publish("20news", b"", known=False)
    place = store / "20news" / "20news-bydate.tar.gz"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"<html>Sorry</html>")
    for _ in range(2):
        with pytest.raises(DataError, match=r"20news-bydate.tar.gz: this is damaged or cut short \([^.]*\)"):
            datasets.fetch("20news")
    assert there(store / "20news") == [".lock", place.name]
    place.write_bytes(tar({f"20news-bydate-{split}/sci.space/1": b"x" for split in ("train", "test")}))
    datasets.fetch("20news")
    assert (place.parent / f"{place.name}.sha256").is_file()


def test_a_file_of_another_corpus(publish, store: Path, zipped) -> None:
    publish("sms", zipped({"other.txt": b"other"}))
    with pytest.raises(DataError) as caught:
        datasets.fetch("sms")
    assert str(caught.value) == (
        f"there are no documents of sms in {store}/sms/smsspamcollection.zip, which holds other.txt: give the "
        "official smsspamcollection.zip, or another archive or a folder with SMSSpamCollection in it"
    )


# --- without a network


def test_offline(server, publish, store: Path, sms: bytes) -> None:
    corpus = publish("sms", sms)
    del server.files["smsspamcollection.zip"]
    place = store / "sms" / "smsspamcollection.zip"
    with pytest.raises(DataError) as caught:
        datasets.fetch("sms")
    assert str(caught.value) == (
        f"{corpus.files[0].url}: the server answers 404 Not Found: download smsspamcollection.zip by other means "
        f"(see {corpus.home}), and place it as {place}, or give your copy with bunrui.datasets.fetch('sms', PATH)"
    )
    place.write_bytes(sms)  # the folder is there
    datasets.fetch("sms")
    assert datasets.load("sms").num_rows == 3


def test_offline_with_several_files(server, publish, store: Path) -> None:
    corpus = publish("nsmc", b"", b"")
    server.files.clear()
    way = f"by other means (see {corpus.home}), and place"
    give = f"into {store}/nsmc, or give your copy with bunrui.datasets.fetch('nsmc', PATH)"
    with pytest.raises(DataError) as caught:
        datasets.fetch("nsmc")
    answer = f"{corpus.files[0].url}: the server answers 404 Not Found:"
    assert str(caught.value) == f"{answer} download ratings_train.txt, ratings_test.txt {way} them {give}"
    (store / "nsmc" / "ratings_train.txt").write_bytes(b"")
    with pytest.raises(DataError) as caught:
        datasets.fetch("nsmc")
    answer = f"{corpus.files[1].url}: the server answers 404 Not Found:"
    assert str(caught.value) == f"{answer} download ratings_test.txt {way} it {give}"


def test_a_file_that_the_user_placed_is_never_removed(publish, store: Path, sms: bytes) -> None:
    publish("sms", sms)
    place = store / "sms" / "smsspamcollection.zip"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"mine")
    with pytest.raises(
        DataError, match=r"is not the official file: its SHA-256 is .*: replace it, or give your copy with"
    ):
        datasets.fetch("sms")
    assert place.read_bytes() == b"mine"


def test_a_copy(publish, store: Path, tmp_path: Path, sms: bytes) -> None:
    publish("sms", sms)
    (tmp_path / "mine.zip").write_bytes(sms)
    (tmp_path / "unpacked").mkdir()
    (tmp_path / "unpacked" / "SMSSpamCollection").write_text("ham\tfrom a folder\n")
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "smsspamcollection.zip").write_bytes(sms)
    for source, first in (
        ("mine.zip", "Ok lar..."),
        ("unpacked", "from a folder"),
        ("packed", "Ok lar..."),
        ("unpacked/SMSSpamCollection", "from a folder"),
    ):
        home = datasets.fetch("sms", tmp_path / source)
        assert there(home) == [".lock", "all.parquet"]
        assert datasets.load("sms")["text"][0].as_py() == first
    assert datasets.fetch("sms") == home and there(home) == [".lock", "all.parquet"], (
        "it is there: nothing is downloaded"
    )


def test_a_copy_that_is_not_the_official_one_is_named(publish, store: Path, tmp_path: Path, sms: bytes, zipped) -> None:
    publish("sms", sms)
    copy = tmp_path / "smsspamcollection.zip"
    copy.write_bytes(zipped({"SMSSpamCollection": b"ham\tone\n"}))
    notices: list[str] = []
    datasets.fetch("sms", copy, notice=notices.append)
    assert notices[-1] == f"{copy} is not the official file (its SHA-256 differs); it was taken as it is"


@pytest.mark.parametrize("known", [True, False])
def test_a_copy_takes_the_place_of_a_download(publish, store: Path, tmp_path: Path, sms: bytes, known: bool) -> None:
    publish("sms", sms, known=known)
    home = datasets.fetch("sms")
    (tmp_path / "SMSSpamCollection").write_text("ham\tmine\n")
    datasets.fetch("sms", tmp_path / "SMSSpamCollection")
    assert there(home) == [".lock", "all.parquet"], "the official file is not what the splits were read from"
    datasets.fetch("sms")
    assert there(home) == [".lock", "all.parquet"] and datasets.load("sms")["text"].to_pylist() == ["mine"]


def test_a_copy_beside_a_file_that_the_user_placed(publish, store: Path, tmp_path: Path, sms: bytes) -> None:
    publish("sms", sms)
    place = store / "sms" / "smsspamcollection.zip"
    place.parent.mkdir(parents=True)
    place.write_bytes(sms)
    (tmp_path / "SMSSpamCollection").write_text("ham\tmine\n")
    datasets.fetch("sms", tmp_path / "SMSSpamCollection")
    assert place.read_bytes() == sms, "it was not read yet"
    assert datasets.load("sms")["text"].to_pylist() == ["mine"]
    datasets.fetch("sms")
    assert there(store / "sms") == COMPLETE and datasets.load("sms").num_rows == 3


def test_a_copy_that_lies_in_the_folder_stays(publish, store: Path, sms: bytes) -> None:
    publish("sms", sms)
    home = datasets.fetch("sms")
    for source in (home, home / "smsspamcollection.zip"):
        datasets.fetch("sms", source)
        assert there(home) == COMPLETE and datasets.load("sms").num_rows == 3


@pytest.mark.parametrize("name", ["mine.zip", "smsspamcollection.zip"])
def test_a_copy_of_something_else(store: Path, tmp_path: Path, zipped, name: str) -> None:
    copy = tmp_path / name
    copy.write_bytes(zipped({f"photos/{n}.txt": b"x" for n in range(5)}))
    notices: list[str] = []
    with pytest.raises(DataError) as caught:
        datasets.fetch("sms", copy, notice=notices.append)
    assert str(caught.value) == (
        f"there are no documents of sms in {copy}, which holds photos/0.txt, photos/1.txt, photos/2.txt …: give "
        "the official smsspamcollection.zip, or another archive or a folder with SMSSpamCollection in it"
    )
    assert notices == [] and not store.exists(), "what was not taken is not said to be, and leaves no folder"


@pytest.mark.parametrize(
    ("name", "what", "expected"),
    [
        ("nsmc", "nsmc (train, test)", "an archive or a folder with ratings_train.txt and ratings_test.txt in it"),
        (
            "enron",
            "enron (enron1, enron2, enron3, enron4, enron5, enron6)",
            "a folder with the official enron1.tar.gz, enron2.tar.gz, enron3.tar.gz, enron4.tar.gz, enron5.tar.gz, "
            "enron6.tar.gz in it, or with enron1/ham/*.txt, enron1/spam/*.txt and so on to enron6",
        ),
        ("uci-iris", "uci-iris", "iris.data or iris.arff, or an archive or a folder with it in it"),
        (
            "uci-spect",
            "uci-spect (train, test)",
            "an archive or a folder with SPECT.train and SPECT.test or spect.train.arff and spect.test.arff in it",
        ),
    ],
)
def test_what_a_copy_should_be(store: Path, tmp_path: Path, name: str, what: str, expected: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError) as caught:
        datasets.fetch(name, tmp_path / "empty")
    where = f"{tmp_path}/empty, which is empty"
    assert str(caught.value) == f"there are no documents of {what} in {where}: give {expected}"
    (tmp_path / "notes.txt").touch()
    with pytest.raises(DataError, match=r"in .*notes\.txt: give "):
        datasets.fetch(name, tmp_path / "notes.txt")


def test_a_copy_that_is_not_there(store: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.zip: there is no such file or folder: check the path"):
        datasets.fetch("sms", "nowhere.zip")


def test_a_copy_without_a_part(store: Path, tmp_path: Path) -> None:
    (tmp_path / "ratings_train.txt").write_text("id\tdocument\tlabel\n1\ta\t0\n")
    with pytest.raises(
        DataError, match=r"there are no documents of nsmc \(test\) in .*/ratings_train.txt: give an archive or"
    ):
        datasets.fetch("nsmc", tmp_path / "ratings_train.txt")


def test_a_table_without_an_address(store: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no official address of vowel.arff could be verified: get it yourself"):
        datasets.fetch("uci-vowel")
    assert not store.exists()
    (tmp_path / "vowel.arff").write_text("@attribute x real\n@attribute Class {a}\n@data\n1,a\n")
    datasets.fetch("uci-vowel", tmp_path / "vowel.arff")
    assert datasets.load("uci-vowel").to_pylist() == [{"label": "a", "x": 1.0}]


# --- trouble with the folder


def test_one_at_a_time(publish, store: Path, sms: bytes) -> None:
    fcntl = pytest.importorskip("fcntl")
    publish("sms", sms)
    (store / "sms").mkdir(parents=True)
    with open(store / "sms" / ".lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DataError, match=r"another process is fetching into .*sms: wait until it is done"):
            datasets.fetch("sms")
    datasets.fetch("sms")


def test_a_folder_that_cannot_be_made(publish, sms: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish("sms", sms)
    (tmp_path / "file").touch()
    monkeypatch.setenv("BUNRUI_DATASETS", str(tmp_path / "file"))
    what = "file/sms: a part of the path is a file, not a folder: check the path, or name another folder"
    with pytest.raises(DataError, match=what):
        datasets.fetch("sms")


def test_a_limit_of_size_while_splits_are_written(publish, store: Path, tmp_path: Path, sms: bytes) -> None:
    resource = pytest.importorskip("resource")
    (tmp_path / "SMSSpamCollection").write_text("ham\tthe old one\n")
    datasets.fetch("sms", tmp_path / "SMSSpamCollection")
    lines = (f"ham\t{hashlib.sha256(str(n).encode()).hexdigest()}\n" for n in range(10_000))
    (tmp_path / "SMSSpamCollection").write_text("".join(lines))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        with pytest.raises(
            DataError, match=r"sms: the file would be larger than the system allows: .*, or name another"
        ):
            datasets.fetch("sms", tmp_path / "SMSSpamCollection")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert there(store / "sms") == [".lock", "all.parquet"]
    assert datasets.load("sms")["text"].to_pylist() == ["the old one"]


def test_every_corpus_that_is_not_there_says_how_to_get_it(store: Path) -> None:
    for name in CORPORA:
        with pytest.raises(DataError, match=rf"get it with bunrui.datasets.fetch\('{name}'\)"):
            datasets.path(name)


def test_files_are_parquet_of_label_and_text(publish, store: Path, sms: bytes) -> None:
    publish("sms", sms)
    assert pq.read_schema(datasets.fetch("sms") / "all.parquet").names == ["label", "text"]


# --- where the folder is

KIM = Path("/home/kim")


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "/home/kim/.cache/bunrui/datasets"),
        ("linux", {"XDG_CACHE_HOME": "/scratch"}, "/scratch/bunrui/datasets"),
        ("linux", {"XDG_CACHE_HOME": "scratch"}, "/home/kim/.cache/bunrui/datasets"),
        ("linux", {"XDG_CACHE_HOME": ""}, "/home/kim/.cache/bunrui/datasets"),
        ("freebsd14", {}, "/home/kim/.cache/bunrui/datasets"),
        ("darwin", {"XDG_CACHE_HOME": "/scratch"}, "/home/kim/Library/Caches/bunrui/datasets"),
        ("win32", {"LOCALAPPDATA": "/home/kim/Local"}, "/home/kim/Local/bunrui/Cache/datasets"),
        ("win32", {}, "/home/kim/AppData/Local/bunrui/Cache/datasets"),
    ],
)
def test_the_folder_of_each_system(platform: str, environment: dict[str, str], expected: str) -> None:
    assert user_cache(platform, environment, KIM) == PurePath(expected)


def test_the_variable_names_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUNRUI_DATASETS", str(tmp_path))
    assert datasets.folder() == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BUNRUI_DATASETS", "~/corpora")
    assert datasets.folder() == tmp_path / "corpora"


def test_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("BUNRUI_DATASETS", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(DataError, match=r"there is no home folder for a cache: name a folder with BUNRUI_DATASETS"):
        datasets.folder()
