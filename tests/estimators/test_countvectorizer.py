"""scikit-learn's own tests of `CountVectorizer`, from the installed version, with `TextVectorizer` in its place.

The cases of other vectorizers are left out.  `DIFFERENCES` has the tests that cannot pass, each with its reason: they
must fail, and all others must pass.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from math import prod
from types import CodeType, FunctionType
from typing import Any
from unittest.mock import patch

import pytest
import sklearn
from sklearn.feature_extraction import text

from bunrui.estimators import TextVectorizer

PRIVATE = "it calls a private method of CountVectorizer"
DIFFERENCES = {
    "test_word_analyzer_unigrams[TextVectorizer]": "by default, words of one letter are features",
    "test_unused_parameters_warn[None-None-None-ngram_range4-None-<lambda>-'ngram_range'-'analyzer'-is callable-"
    "TextVectorizer]": "a function gives tokens, and ngram_range makes n-grams of them",
    "test_vectorizer_stop_words_inconsistent": PRIVATE,
    "test_stop_word_validation_custom_preprocessor[TextVectorizer]": PRIVATE,
    "test_countvectorizer_sort_features_64bit_sparse_indices[csr_matrix]": PRIVATE,
    "test_countvectorizer_sort_features_64bit_sparse_indices[csr_array]": PRIVATE,
}
N_TESTS = 57  # of scikit-learn 1.9

OTHERS = (text.HashingVectorizer, text.TfidfVectorizer, text.TfidfTransformer)


def load() -> dict[str, FunctionType]:
    """Their tests, as if they had imported ours."""
    found = importlib.util.find_spec("sklearn.feature_extraction.tests.test_text")
    assert found is not None and found.origin is not None
    spec = importlib.util.spec_from_file_location(f"{__name__}_theirs", found.origin)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # pickle looks their functions up
    with patch.object(text, "CountVectorizer", TextVectorizer):
        spec.loader.exec_module(module)
    return {name: value for name, value in vars(module).items() if name.startswith("test_")}


def n_cases(test: FunctionType) -> int:
    """Leave the cases of other vectorizers out; how many of ours there are."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    test.pytestmark = [mark for mark in getattr(test, "pytestmark", []) if mark.name != "parametrize"]  # type: ignore[attr-defined]
    is_ours, sizes = "CountVectorizer" in names_in(test.__code__), []
    for mark in marks:
        names, rows = mark.args
        rows = [row for row in rows if not any(isinstance(v, OTHERS) or v in OTHERS for v in values_of(row))]
        is_ours |= any(v is TextVectorizer or isinstance(v, TextVectorizer) for row in rows for v in values_of(row))
        sizes.append(len(rows))
        pytest.mark.parametrize(names, rows, **mark.kwargs)(test)
    return prod(sizes) if is_ours else 0


def values_of(row: Any) -> tuple[Any, ...]:
    """The values of a case, which may be a `pytest.param`."""
    values = getattr(row, "values", row)
    return values if isinstance(values, tuple) else (values,)


def names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from names_in(inner)


CASES = {name: (test, n) for name, test in load().items() if (n := n_cases(test))}
globals().update({name: test for name, (test, _) in CASES.items()})


@pytest.fixture(autouse=True)
def expect_differences(request: pytest.FixtureRequest) -> None:
    reason = DIFFERENCES.get(request.node.name)
    if reason is not None:
        request.node.add_marker(pytest.mark.xfail(reason=reason, strict=True))


@pytest.mark.skipif(not sklearn.__version__.startswith("1.9."), reason="other versions have other tests")
def test_number_of_tests() -> None:
    assert sum(n for _, n in CASES.values()) == N_TESTS
    assert {name.partition("[")[0] for name in DIFFERENCES} <= CASES.keys()
