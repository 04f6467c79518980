"""The tables of the UCI repository, which classifiers of columns are compared on.

Addresses, the column of the class and the separator are those that several public programs agree on, among them the
configurations of UCIData.jl; hashes are those that others have pinned (PreprocessData.jl, shapiq).  adult.data and
adult.test were compared byte by byte.  Where the repository has no plain file of rows, or a file that differs from the
table that is usually meant, there is no address: bring the ARFF file of Weka's collection.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

from bunrui.datasets.columns import Layout
from bunrui.datasets.registry import Corpus, File

__all__ = ["TABLES"]

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_HOME = "https://archive.ics.uci.edu/datasets"
_WEKA = "https://www.cs.waikato.ac.nz/ml/weka/datasets.html"
_LICENCE = "CC BY 4.0"
_TERMS = "Creative Commons Attribution 4.0, as the UCI Machine Learning Repository says. Name the repository."


class _Official(NamedTuple):
    """Paths of files → hashes, and how the rows are read."""

    files: dict[str, str | None]
    label: int
    leave_out: tuple[int, ...] = ()
    separator: str = ","
    arff_label: int = -1


_OFFICIAL = {
    "arrhythmia": _Official({"arrhythmia/arrhythmia.data": None}, -1),
    "balance.scale": _Official({"balance-scale/balance-scale.data": None}, 0),
    "breast.cancer": _Official({"breast-cancer/breast-cancer.data": None}, 0),
    "breast.w": _Official({"breast-cancer-wisconsin/breast-cancer-wisconsin.data": None}, -1, (0,)),
    "car": _Official({"car/car.data": "b703a9ac69f11e64ce8c223c0a40de4d2e9d769f7fb20be5f8f2e8a619893d83"}, -1),
    "cmc": _Official({"cmc/cmc.data": None}, -1),
    "credit.a": _Official({"credit-screening/crx.data": None}, -1),
    "credit.g": _Official({"statlog/german/german.data": None}, -1, separator=""),
    "dermatology": _Official({"dermatology/dermatology.data": None}, -1),
    "ecoli": _Official({"ecoli/ecoli.data": None}, -1, (0,), separator=""),
    "glass": _Official({"glass/glass.data": None}, -1, (0,)),
    "haberman": _Official({"haberman/haberman.data": None}, -1),
    "hepatitis": _Official({"hepatitis/hepatitis.data": None}, 0),
    "ionosphere": _Official(
        {"ionosphere/ionosphere.data": "46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd"}, -1
    ),
    "iris": _Official({"iris/iris.data": "6f608b71a7317216319b4d27b4d9bc84e6abd734eda7872b71a458569e2656c0"}, -1),
    "kr.vs.kp": _Official({"chess/king-rook-vs-king-pawn/kr-vs-kp.data": None}, -1),
    "letter": _Official({"letter-recognition/letter-recognition.data": None}, 0),
    "lymph": _Official({"lymphography/lymphography.data": None}, 0),
    "mushroom": _Official({"mushroom/agaricus-lepiota.data": None}, 0),
    "nursery": _Official({"nursery/nursery.data": None}, -1),
    "optdigits": _Official({"optdigits/optdigits.tra": None, "optdigits/optdigits.tes": None}, -1),
    "pendigits": _Official({"pendigits/pendigits.tra": None, "pendigits/pendigits.tes": None}, -1),
    "postoperative.patient.data": _Official({"postoperative-patient-data/post-operative.data": None}, -1),
    "primary.tumor": _Official({"primary-tumor/primary-tumor.data": None}, 0),
    "sonar": _Official({"undocumented/connectionist-bench/sonar/sonar.all-data": None}, -1),
    "soybean": _Official(
        {
            "soybean/soybean-large.data": "04b99f2728ded9f544022d2b4f6cce0ebe11ef5c9d44f10e21acd7093876507e",
            "soybean/soybean-large.test": "ff1c5f5c41ddc9a8e3746648a2fe5cafb6b0eef86bd49575decbb665e1b6a104",
        },
        0,
    ),
    "spambase": _Official({"spambase/spambase.data": None}, -1),
    "spect": _Official({"spect/SPECT.train": None, "spect/SPECT.test": None}, 0, arff_label=0),
    "spectf": _Official({"spect/SPECTF.train": None, "spect/SPECTF.test": None}, 0, arff_label=0),
    "tae": _Official({"tae/tae.data": None}, -1),
    "tic-tac-toe": _Official({"tic-tac-toe/tic-tac-toe.data": None}, -1),
    "vote": _Official({"voting-records/house-votes-84.data": None}, 0),
    "wine": _Official({"wine/wine.data": "6be6b1203f3d51df0b553a70e57b8a723cd405683958204f96d23d7cd6aea659"}, 0),
    "zoo": _Official({"zoo/zoo.data": None}, -1, (0,)),
}
"""Tables with a plain file of rows at an address that was verified; two files are training and test set."""

_BROUGHT = (
    "anneal", "anneal.orig", "audiology", "autos", "bridges.version1", "bridges.version2", "colic", "colic.orig",
    "column2C", "column3C", "cylinder.bands", "diabetes", "flags", "heart.c", "heart.h", "heart.statlog",
    "hypothyroid", "labor", "page.blocks", "segment", "shuttle.landing.control", "sick", "solar.flare1",
    "solar.flare2", "splice", "sponge", "trains", "vehicle", "vowel", "waveform5000",
)  # fmt: skip
"""Tables that the user brings, as ARFF; spectrometer, whose class is a number, is left out."""


def _official(name: str, table: _Official) -> Corpus:
    splits = ("train", "test") if len(table.files) == 2 else ("all",)
    files = tuple(File(path.rpartition("/")[2], f"{_UCI}/{path}", sha256) for path, sha256 in table.files.items())
    names = {file.name: split for file, split in zip(files, splits, strict=True)}
    names |= {f"{name}.{split}.arff".replace(".all.", "."): split for split in splits}
    layout = Layout(names, table.label, table.leave_out, table.separator, table.arff_label)
    return _table(name, _HOME, files, layout, splits)


def _brought(name: str) -> Corpus:
    file = File(f"{name}.arff", None)
    return _table(name, _WEKA, (file,), Layout({file.name: "all"}), ("all",))


def _table(name: str, home: str, files: tuple[File, ...], layout: Layout, splits: tuple[str, ...]) -> Corpus:
    rows, arff = ([file for file in layout.files if file.endswith(".arff") == is_arff] for is_arff in (False, True))
    inside = " or ".join(" and ".join(kind) for kind in (rows, arff) if kind)
    return Corpus(f"uci-{name}", f"{name}, a table of UCI", "-", _LICENCE, _TERMS, home, files, inside, layout, splits)


_ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
)  # fmt: skip

_ADULT = Corpus(
    name="adult",
    title="Adult (census income, Kohavi 1996), a table of UCI",
    language="-",
    licence=_LICENCE,
    terms=_TERMS,
    home="https://archive.ics.uci.edu/dataset/2/adult",
    files=(
        File(
            "adult.data",
            f"{_UCI}/adult/adult.data",
            "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            3_974_305,
        ),
        File(
            "adult.test",
            f"{_UCI}/adult/adult.test",
            "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            2_003_153,
        ),
    ),
    inside="adult.data and adult.test",
    read=Layout({"adult.data": "train", "adult.test": "test"}, names=_ADULT_COLUMNS),
    splits=("train", "test"),
    rows=MappingProxyType({"train": 32_561, "test": 16_281}),
    n_labels=2,
)

TABLES = {
    corpus.name: corpus
    for corpus in (
        _ADULT,
        *(_official(name, table) for name, table in _OFFICIAL.items()),
        *(_brought(name) for name in _BROUGHT),
    )
}
"""All tables by name."""
