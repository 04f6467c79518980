"""What tests ask of the models in the table."""

from __future__ import annotations

import numpy as np

from bunrui.counts import Counts
from bunrui.errors import OptionError
from bunrui.models import MODELS
from bunrui.models.scorer import Smoothing
from bunrui.models.view import whole

__all__ = ["BY_WORD"]


def _takes_alpha_by_word(model: str) -> bool:
    try:
        MODELS[model].scorer(whole(Counts()), Smoothing(1.0, {"a": 2.0}), np.empty(0))
    except OptionError:
        return False
    return True


BY_WORD = [model for model in MODELS if _takes_alpha_by_word(model)]
"""Models that take an alpha for each word."""

assert {"multinomial", "binary", "mixed", "complement", "wcnb", "binary-complement"} <= set(BY_WORD)
