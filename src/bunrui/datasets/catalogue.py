"""The corpora.

Addresses and hashes are those that other public programs use for the same files, among them the data sets of Hugging
Face (`dataset_infos.json`) and scikit-learn.  A hash that could not be verified in this way is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import MappingProxyType

from bunrui.datasets import reuters, texts
from bunrui.datasets.archives import Member
from bunrui.datasets.registry import Corpus, File, Reader
from bunrui.datasets.tables import TABLES

__all__ = ["CORPORA"]


def _reader(documents: Callable[[Iterator[Member]], Iterator[texts.Document]]) -> Reader:
    return partial(texts.tables, documents)


_ENRON = "https://www2.aueb.gr/users/ion/data/enron-spam"
_NSMC = "https://raw.githubusercontent.com/e9t/nsmc/master"
_AGNEWS = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv"
_GOEMOTIONS = "https://github.com/google-research/google-research/raw/master/goemotions/data"

_TEXTS = (
    Corpus(
        name="livedoor",
        title="livedoor news corpus: Japanese news in nine categories",
        language="ja",
        licence="CC BY-ND 2.1 JP",
        terms="Creative Commons Attribution - NoDerivs 2.1 Japan: use it, name the source that the LICENSE.txt of each "
        "category asks for, and do not pass on changed articles.",
        home="https://www.rondhuit.com/download.html#ldcc",
        # The hash is not known.
        files=(File("ldcc-20140209.tar.gz", "https://www.rondhuit.com/download/ldcc-20140209.tar.gz"),),
        inside="CATEGORY/CATEGORY-NUMBER.txt",
        read=_reader(texts.livedoor),
        rows=MappingProxyType({"all": 7_367}),
        n_labels=9,
    ),
    Corpus(
        name="nsmc",
        title="Naver sentiment movie corpus: Korean reviews, 0 negative, 1 positive (Park 2016)",
        language="ko",
        licence="CC0 1.0",
        terms="Creative Commons Zero 1.0: public domain.",
        home="https://github.com/e9t/nsmc",
        files=(
            File(
                "ratings_train.txt",
                f"{_NSMC}/ratings_train.txt",
                "e03b7d14e9e41be8d464a28057cd25d7396c53e67aa7fd5f7e552c59b0ee2940",
                14_628_807,
            ),
            File(
                "ratings_test.txt",
                f"{_NSMC}/ratings_test.txt",
                "8ac9f64052f11dbf6ae0acb5e038f03d90a76f0eda7820cfb3a92d02edfcebda",
                4_893_335,
            ),
        ),
        inside="ratings_train.txt and ratings_test.txt",
        read=_reader(texts.nsmc),
        splits=("train", "test"),
        rows=MappingProxyType({"train": 150_000, "test": 50_000}),
        n_labels=2,
    ),
    Corpus(
        name="20news",
        title="20 Newsgroups by date: messages with their headers (Lang 1995)",
        language="en",
        licence="none stated",
        terms="The publisher states no licence: messages to public newsgroups of 1993. Name the source.",
        home="http://qwone.com/~jason/20Newsgroups/",
        files=(
            File(
                "20news-bydate.tar.gz",
                "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",
                "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
                14_464_277,
            ),
        ),
        inside="20news-bydate-train/GROUP/NUMBER and 20news-bydate-test/GROUP/NUMBER",
        read=_reader(texts.newsgroups),
        splits=("train", "test"),
        rows=MappingProxyType({"train": 11_314, "test": 7_532}),
        n_labels=20,
    ),
    Corpus(
        name="imdb",
        title="Large Movie Review Dataset 1.0 (Maas et al. 2011)",
        language="en",
        licence="none stated",
        terms="The publishers state no licence, and ask for a citation of Maas et al., ACL 2011. "
        "The reviews are their authors' and IMDb's.",
        home="https://ai.stanford.edu/~amaas/data/sentiment/",
        files=(
            File(
                "aclImdb_v1.tar.gz",
                "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
                84_125_825,
            ),
        ),
        inside="train/pos/*.txt, train/neg/*.txt, test/pos/*.txt and test/neg/*.txt",
        read=_reader(texts.imdb),
        splits=("train", "test"),
        rows=MappingProxyType({"train": 25_000, "test": 25_000}),
        n_labels=2,
    ),
    Corpus(
        name="sms",
        title="SMS Spam Collection 1 (Almeida et al. 2011)",
        language="en",
        licence="CC BY 4.0",
        terms="Creative Commons Attribution 4.0, as the UCI Machine Learning Repository says. "
        "Name Almeida, Hidalgo and Yamakami, DocEng 2011.",
        home="https://archive.ics.uci.edu/dataset/228/sms+spam+collection",
        files=(
            File(
                "smsspamcollection.zip",
                "https://archive.ics.uci.edu/ml/machine-learning-databases/00228/smsspamcollection.zip",
                "1587ea43e58e82b14ff1f5425c88e17f8496bfcdb67a583dbff9eefaf9963ce3",
                203_415,
            ),
        ),
        inside="SMSSpamCollection",
        read=_reader(texts.sms),
        rows=MappingProxyType({"all": 5_574}),
        n_labels=2,
    ),
    Corpus(
        name="enron",
        title="Enron-Spam, preprocessed: the mail of six users (Metsis et al. 2006)",
        language="en",
        licence="none stated",
        terms="The publishers state no licence. Cite Metsis, Androutsopoulos and Paliouras, CEAS 2006. These are "
        "mails of real people.",
        home=f"{_ENRON}/",
        # The hashes are not known.
        files=tuple(File(f"enron{n}.tar.gz", f"{_ENRON}/preprocessed/enron{n}.tar.gz") for n in range(1, 7)),
        inside="enron1/ham/*.txt, enron1/spam/*.txt and so on to enron6",
        read=_reader(texts.enron),
        splits=tuple(f"enron{n}" for n in range(1, 7)),
        rows=MappingProxyType(
            {"enron1": 5_172, "enron2": 5_857, "enron3": 5_512, "enron4": 6_000, "enron5": 5_175, "enron6": 6_000}
        ),
        n_labels=2,
    ),
    Corpus(
        name="reuters",
        title="Reuters-21578 1.0, ModApte split, several topics a document (Lewis 1997)",
        language="en",
        licence="research only",
        terms="Copyright Reuters Ltd. Reuters and Carnegie Group allow the free distribution for research purposes "
        'only. Refer to it as "Reuters-21578, Distribution 1.0".',
        home="https://archive.ics.uci.edu/dataset/137/reuters+21578+text+categorization+collection",
        # The same file was at archive.ics.uci.edu/ml/machine-learning-databases/reuters21578-mld until 2025.
        files=(
            File(
                "reuters21578.tar.gz",
                "https://kdd.ics.uci.edu/databases/reuters21578/reuters21578.tar.gz",
                "3bae43c9b14e387f76a61b6d82bf98a4fb5d3ef99ef7e7075ff2ccbcf59f9d30",
                8_150_596,
            ),
        ),
        inside="reut2-000.sgm and so on to reut2-021.sgm",
        read=_reader(reuters.documents),
        splits=("train", "test"),
        rows=MappingProxyType({"train": 9_603, "test": 3_299}),
    ),
    Corpus(
        name="agnews",
        title="AG's news topics, version 3: title and description (Zhang et al. 2015)",
        language="en",
        licence="non-commercial",
        terms="Provided for research and other non-commercial activity (Gulli; Zhang, Zhao and LeCun, NIPS 2015).",
        home="http://groups.di.unipi.it/~gulli/AG_corpus_of_news_articles.html",
        # The mirror that most programs take: the publisher's own copy is on Google Drive, without a stable address.
        files=(
            File(
                "train.csv",
                f"{_AGNEWS}/train.csv",
                "76a0a2d2f92b286371fe4d4044640910a04a803fdd2538e0f3f29a5c6f6b672e",
                29_470_338,
            ),
            File(
                "test.csv",
                f"{_AGNEWS}/test.csv",
                "521465c2428ed7f02f8d6db6ffdd4b5447c1c701962353eb2c40d548c3c85699",
                1_857_427,
            ),
        ),
        inside="train.csv and test.csv",
        read=_reader(texts.agnews),
        splits=("train", "test"),
        rows=MappingProxyType({"train": 120_000, "test": 7_600}),
        n_labels=4,
    ),
    Corpus(
        name="goemotions",
        title="GoEmotions: Reddit comments, several emotions a comment (Demszky et al. 2020)",
        language="en",
        licence="CC BY 4.0",
        terms="Creative Commons Attribution 4.0, as all data sets of google-research. Name Demszky et al., ACL 2020.",
        home="https://github.com/google-research/google-research/tree/master/goemotions",
        files=(
            File(
                "train.tsv",
                f"{_GOEMOTIONS}/train.tsv",
                "1c254a142be5c00e80d819b9ae1bbd36d94b2eeb8f4b1271846508d57e57d9c5",
                3_519_053,
            ),
            File(
                "dev.tsv",
                f"{_GOEMOTIONS}/dev.tsv",
                "575489c079c9de1097062a01738f998590d6b7ead66dd1c9fd1d2ba01fd8bc62",
                439_059,
            ),
            File(
                "test.tsv",
                f"{_GOEMOTIONS}/test.tsv",
                "0587b2dd8b27b97352adbfc3fb083d46005c8946657fdc2b1ca8b1cc7f1f8be4",
                436_706,
            ),
        ),
        inside="train.tsv, dev.tsv and test.tsv",
        read=_reader(texts.goemotions),
        splits=("train", "dev", "test"),
        rows=MappingProxyType({"train": 43_410, "dev": 5_426, "test": 5_427}),
        n_labels=28,
    ),
)

CORPORA: dict[str, Corpus] = {corpus.name: corpus for corpus in _TEXTS} | TABLES
"""All corpora by name: texts first, then tables."""
