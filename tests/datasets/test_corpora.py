"""What holds for every corpus of the catalogue."""

from __future__ import annotations

import re

import pytest

from bunrui.datasets import CORPORA
from bunrui.datasets.corpora import find_corpus
from bunrui.errors import OptionError


@pytest.mark.parametrize("name", CORPORA)
def test_corpus(name: str) -> None:
    corpus = CORPORA[name]
    assert corpus.name == name and re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9.-]*", name)
    assert corpus.licence and corpus.terms.endswith(".") and corpus.home.startswith("http")
    assert corpus.inside in corpus.expected
    assert corpus.splits and set(corpus.rows) <= set(corpus.splits)
    names = [file.name for file in corpus.files]
    assert len(set(names)) == len(names) > 0
    for file in corpus.files:
        assert re.fullmatch(r"[\w.-]+", file.name)
        assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
        if file.url is None:
            assert file.name.endswith(".arff")
        else:
            assert file.url.endswith(f"/{file.name}")
            # Without TLS only what has a hash.
            assert file.url.startswith("https://") or (file.url.startswith("http://") and file.sha256)


def test_hashes_are_of_one_file_each() -> None:
    hashes = [file.sha256 for corpus in CORPORA.values() for file in corpus.files if file.sha256]
    assert len(set(hashes)) == len(hashes) > 15


@pytest.mark.parametrize(
    ("name", "proposed"), [("ag_news", "agnews"), ("iris", "uci-iris"), ("20-news", "20news"), ("Reuters", "reuters")]
)
def test_a_name_that_is_nearly_right(name: str, proposed: str) -> None:
    with pytest.raises(OptionError, match=rf"there is no corpus '{name}': did you mean {proposed}\b"):
        find_corpus(name)
