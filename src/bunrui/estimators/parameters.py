"""`alpha` as an estimator on matrices takes it: a number, one for each column, or a mapping from column name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bunrui.errors import OptionError
from bunrui.models.base import MLE_LAMBDA, ColumnSmoothing, Smoothing, smoothing_of

__all__ = ["same", "smoothing_on"]

# Where scikit-learn stops with `force_alpha=False`.
_LEAST = 1e-10


def smoothing_on(
    n_features: int,
    names: Sequence[str] | None,
    smoothing: str,
    alpha: Any,
    force_alpha: bool = True,
    warn: bool = False,
) -> Smoothing:
    """λ for so many columns, which may have names.

    As in scikit-learn `alpha` may be 0: no smoothing, as `smoothing="mle"` has it; and as there, with `warn` a user is
    told where `force_alpha=False` raises it.

    Examples
    --------
    >>> smoothing_on(2, None, "eap", None).value, smoothing_on(2, None, "eap", 0).value
    (1.0, 1e-100)
    """
    if alpha is None or isinstance(alpha, (Mapping, str, bool)) or smoothing not in ("eap", "map"):
        return _known(n_features, names, smoothing_of(smoothing, alpha, default=1.0))
    try:
        values = np.asarray(alpha, np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"alpha should be a number, or one for each column, not {alpha!r}") from error
    values = values - 1.0 if smoothing == "map" else values
    if not ((values > 0) if smoothing == "map" else (values >= 0)).all() or not np.isfinite(values).all():
        rule = "above 1 with smoothing='map'" if smoothing == "map" else "0 or more"
        raise OptionError(f"alpha should be {rule}, not {alpha!r}")
    if warn and not force_alpha and (values < _LEAST).any():
        warnings.warn(
            f"alpha too small will result in numeric errors, setting alpha = {_LEAST:.1e}. Use `force_alpha=True` to "
            "keep alpha unchanged.",
            stacklevel=2,
        )
    values = np.maximum(values, MLE_LAMBDA if force_alpha else _LEAST)
    vanishing = bool((values == MLE_LAMBDA).all())
    if values.ndim == 0:
        return Smoothing(float(values), vanishing=vanishing)
    if values.shape != (n_features,):
        raise OptionError(f"alpha should have one number for each of {n_features} columns, not {values.shape}")
    return ColumnSmoothing(float(values.min()), vanishing=vanishing, by_column=values)


def _known(n_features: int, names: Sequence[str] | None, smoothing: Smoothing) -> Smoothing:
    known = (names if names is not None else column_names(n_features)) if smoothing.by_word else ()
    for name in smoothing.by_word:
        if name not in known:
            raise OptionError(f"alpha names the column {name!r}, which X does not have")
    return smoothing


def column_names(n_features: int) -> list[str]:
    """Names for columns that have none, as scikit-learn has them."""
    return [f"x{f}" for f in range(n_features)]


def same(these: Mapping[str, Any], those: Mapping[str, Any]) -> bool:
    """Whether parameters have the same values."""
    return all(_equal(value, those[name]) for name, value in these.items())


def _equal(a: Any, b: Any) -> bool:
    if a is None or b is None or isinstance(a, (str, Mapping)) or isinstance(b, (str, Mapping)):
        return type(a) is type(b) and bool(a == b)
    return bool(np.array_equal(a, b))
