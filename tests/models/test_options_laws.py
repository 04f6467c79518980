"""`class_norm` and `against_rest`: finite on hostile counts, free of order, and refused where they make no sense."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from bunrui.errors import OptionError
from bunrui.models import CLASS_NORM_ALPHA, MODELS
from bunrui.models.linear import dense_table
from bunrui.models.rest import log_odds
from bunrui.models.scorer import Smoothing, log_prior, smoothing_of
from bunrui.models.view import FeatureCounts, select, whole
from tests.models.test_options import COUNTING, DOCUMENTS, OPTIONS, QUERY, every, learned, scores

# Hostile counts

HOSTILE: list[tuple[list[dict[str, int]], list[str]]] = [
    ([{"a": 1}, {}, {}], ["p", "q", "q"]),  # a class without words
    ([{}, {}], ["p", "q"]),  # no words at all
    ([{}], ["p"]),
    ([{"a": 3, "b": 1}], ["p"]),  # one class
    ([{"a": 3}, {"a": 1}], ["p", "q"]),  # one word
    ([{"a": 4 * 10**9}, {"b": 1}, {"a": 1}], ["p", "q", "q"]),
]


@every
@pytest.mark.parametrize("case", range(len(HOSTILE)))
def test_finite(model: str, options: dict[str, bool], case: int) -> None:
    counts = learned(*HOSTILE[case]).counts
    view = whole(counts)
    priors: list[Any] = ["empirical", "uniform", ("smoothed", 1e-9), {"p": 1.0, "q": 5.0}]
    for smoothing, prior in product(("eap", "map", "mle", 1e-100, 1e100), priors):
        lam = smoothing_of(smoothing, None, 0.1) if isinstance(smoothing, str) else Smoothing(smoothing)
        with np.errstate(all="raise", under="ignore"):
            scorer = MODELS[model].scorer(view, lam, log_prior(counts, prior), **options)
            for query in ({}, {"a": 1}, {"a": 2, "b": 9}):
                assert np.isfinite(scores(view, scorer, query)).all(), (smoothing, prior)
            assert np.isfinite(scorer.unseen).all(), (smoothing, prior)


@every
def test_a_class_that_has_gone(model: str, options: dict[str, bool]) -> None:
    """What is left of it by id, with no document and a log prior of 0, leaves the others alone."""
    clf = learned(DOCUMENTS, ["1", "2", "3"]).learn([{"a": 7}], ["gone"])
    clf.unlearn([{"a": 7}], ["gone"])
    found = []
    for counts in (clf.counts, learned(DOCUMENTS, ["1", "2", "3"]).counts):
        view = whole(counts)
        scorer = MODELS[model].scorer(view, Smoothing(0.3), log_prior(counts, "empirical"), **options)
        found.append(scores(view, scorer, QUERY))
    assert found[0][:3] == found[1]
    assert np.isfinite(found[0]).all()


@pytest.mark.parametrize("options", [{"class_norm": True}, {"against_rest": True}, OPTIONS[-1][1]], ids=str)
def test_mle_leaves_a_class_without_words_behind(options: dict[str, bool]) -> None:
    counts = learned([{"a": 2}, {"b": 1}, *[{}] * 50], ["p", "q", *["none"] * 50]).counts
    view = whole(counts)
    scorer = MODELS["multinomial"].scorer(
        view, smoothing_of("mle", None, 1.0), log_prior(counts, "empirical"), **options
    )
    none, p, q = scores(view, scorer, {"a": 1})
    assert p > q + 100
    assert p > none + 100


def test_odds_of_priors() -> None:
    """-inf is a class that was declared and never seen; 1 and more would be infinite odds."""
    found = log_odds(np.array([-np.inf, np.log(1e-300), np.log(0.25), 0.0, 3.0, 709.0]))
    assert found[0] == -np.inf
    assert found[1:3].tolist() == pytest.approx([np.log(1e-300), np.log(1 / 3)], rel=1e-14)
    assert found[3] == pytest.approx(100 * np.log(10), rel=1e-14)
    assert np.isfinite(found[4:]).all()


# Selection, orders and laws


@every
def test_the_order_of_learning_changes_no_bit(model: str, options: dict[str, bool]) -> None:
    rng = np.random.default_rng(3)
    texts = [{f"w{k}": int(n) for k, n in enumerate(row) if n} for row in rng.poisson(0.08, (30, 40))]
    labels = ["pqrst"[k] for k in rng.choice(5, 30)]
    found = []
    for order in (range(30), rng.permutation(30)):
        counts = learned([texts[k] for k in order], [labels[k] for k in order]).counts
        view = select(counts, 2, None)
        assert view.n_features < counts.n_features
        scorer = MODELS[model].scorer(view, Smoothing(0.1), log_prior(counts, "empirical"), **options)
        columns = [counts.labels.index(label) for label in "pqrst"]
        by_word = dict(
            zip(view.words_of(view.feature_ids()), dense_table(view, scorer)[:, columns].tolist(), strict=True)
        )
        found.append((scorer.bias[columns].tolist(), by_word))
    assert found[0] == found[1]


@pytest.mark.parametrize("model", MODELS)
def test_without_options_nothing_changes(model: str) -> None:
    counts = learned(DOCUMENTS, ["1", "2", "3"]).counts
    view, prior = whole(counts), log_prior(counts, "empirical")
    plain, found = (
        MODELS[model].formula(view, Smoothing(0.3), prior),
        MODELS[model].scorer(view, Smoothing(0.3), prior, class_norm=False, against_rest=False),
    )
    assert dense_table(view, plain).tobytes() == dense_table(view, found).tobytes()
    assert plain.bias.tobytes() == found.bias.tobytes()
    assert plain.unseen.tobytes() == found.unseen.tobytes()
    assert not found.everywhere


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["class_norm", "against_rest"])
def test_models_that_do_not_take_an_option(model: str, name: str) -> None:
    takers = [*COUNTING, *(["bernoulli"] if name == "against_rest" else [])]
    counts = learned(DOCUMENTS, ["1", "2", "3"]).counts
    args = whole(counts), Smoothing(1.0), log_prior(counts, "empirical")
    if model in takers:
        MODELS[model].check_options(**{name: True})
        MODELS[model].scorer(*args, **{name: True})
        return
    message = f"{name} is an option of the models {', '.join(takers)}: choose one of them, or leave it out"
    with pytest.raises(OptionError, match=message):
        MODELS[model].scorer(*args, **{name: True})
    with pytest.raises(OptionError, match=message):
        MODELS[model].check_options(**{name: True})


def test_the_default_alpha() -> None:
    assert MODELS["binary"].default_alpha() == 0.1
    assert MODELS["binary"].default_alpha(class_norm=True) == CLASS_NORM_ALPHA


def test_bernoulli_has_one_alpha() -> None:
    counts = learned(DOCUMENTS, ["1", "2", "3"]).counts
    with pytest.raises(OptionError, match="one alpha for all words"):
        args = whole(counts), Smoothing(1.0, {"a": 2.0}), log_prior(counts, "empirical")
        MODELS["bernoulli"].scorer(*args, against_rest=True)


def test_too_many_cells_to_fill() -> None:
    n = 1000
    ids, ones = np.arange(n, dtype=np.uint32), np.ones(n, np.int64)
    cells = FeatureCounts(ids, np.arange(n), ones.astype(np.int32), np.zeros(n, np.int32), ones, ones)
    assert cells.filled(7).counts.sum() == n
    with pytest.raises(OptionError, match=r"1,000 features × 100,000 classes are too many.*leave against_rest out"):
        cells.filled(100_000)
