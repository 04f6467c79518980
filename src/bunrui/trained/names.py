"""The names of the models that are trained from documents, and what options they take; importing this costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bunrui.errors import OptionError

__all__ = ["MOST_FEATURES", "TRAINED", "TRAINED_ALPHA", "check_options", "is_trained"]

TRAINED = ("twcnb", "nbsvm", "arow", "aode", "columns")

# α where the user names none.  Of twcnb, of .01, .1, .3 and 1: with the 1 of the article 20 Newsgroups, livedoor and
# SMS spam lose 4, 5 and 3 points (docs/decisions/007).  `aode` and `columns` have their own smoothing.
TRAINED_ALPHA = {"twcnb": 0.1, "nbsvm": 0.5, "arow": 0.5}

# Of `aode`, whose tables grow with the square: 500 words of 20 classes take 160 MB.
MOST_FEATURES = 500


def is_trained(model: str) -> bool:
    """Whether a model needs the documents."""
    return model in TRAINED


def check_options(model: str, options: Mapping[str, Any]) -> None:
    """Refuse what a trained model does not take.

    >>> usual = {"unseen": "ignore", "smoothing": "eap", "prior": "empirical", "class_norm": False}
    >>> check_options("aode", usual | {"against_rest": False, "alpha": 1.0})
    Traceback (most recent call last):
    bunrui.errors.OptionError: aode has no alpha: its smoothing is that of the article; leave it out
    """
    if model == "columns":
        _check_columns(options)
    elif options["prior"] != "empirical":
        raise OptionError(f"{model} has no class prior: leave prior out, or set it to 'empirical'")
    if options["unseen"] != "ignore":
        raise OptionError(f"{model} knows nothing of words that it never saw: use unseen='ignore'")
    for name in ("class_norm", "against_rest"):
        if options[name]:
            raise OptionError(
                f"{name} changes how counts are read, and {model} is trained from documents: leave it out"
            )
    if model == "twcnb":
        return
    if options["smoothing"] != "eap":
        raise OptionError(f"{model} has no smoothing {options['smoothing']!r}: leave it out")
    if options["alpha"] is not None and model == "aode":
        raise OptionError("aode has no alpha: its smoothing is that of the article; leave it out")
    if isinstance(options["alpha"], Mapping):
        raise OptionError(f"alpha of {model} should be a number: it smooths the ratios of all words alike")


def _check_columns(options: Mapping[str, Any]) -> None:
    analyzer = options["analyzer"]
    if getattr(analyzer, "name", analyzer) != "columns":
        raise OptionError("the model 'columns' reads tables, not text: make the classifier with analyzer='columns'")
    for name, usual in (("min_df", 1), ("max_features", None)):
        if options[name] != usual:
            raise OptionError(f"{name} should be left out: the model 'columns' reads all columns")
