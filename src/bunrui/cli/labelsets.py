"""`--labels` and `--threshold`: documents that may have any number of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bunrui.cli.options import UsageError

if TYPE_CHECKING:
    from bunrui.classifier import AnyClassifier

__all__ = ["LabelSets"]


def _threshold(given: str | None) -> str | None:
    if given not in (None, "best"):
        try:
            float(given)
        except ValueError:
            raise typer.BadParameter(f"{given!r} is neither a number nor 'best'.") from None
    return given


def _sets(*names: str, help: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="Several labels", show_default=False, **settings)


@dataclass(frozen=True)
class LabelSets:
    """Whether documents may have any number of labels."""

    labels: Annotated[
        bool, _sets("--labels", help="Any number of labels for each document: all whose log-odds are high enough.")
    ] = False
    threshold: Annotated[
        str | None,
        _sets(
            "--threshold",
            metavar="NUMBER",
            callback=_threshold,
            help="The log-odds above which a label is given (0); 'best': for each label what would have been best for "
            "the documents that FILE keeps, each left out in turn.",
        ),
    ] = None

    def check(self) -> None:
        """Refuse what does not go together."""
        if self.threshold is not None and not self.labels:
            raise UsageError("--threshold goes with --labels.")

    def thresholds(self, classifier: AnyClassifier) -> float | dict[str, float]:
        """One for all labels, or one for each."""
        if self.threshold != "best":
            return float(self.threshold or 0)
        if getattr(classifier, "keep", "text") != "text":
            raise UsageError("--threshold best needs a FILE that keeps texts: give a number.")
        from bunrui.evaluation.thresholds import best_thresholds

        return best_thresholds(classifier)
