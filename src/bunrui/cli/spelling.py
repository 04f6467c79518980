"""Labels that may be written wrongly: a label needs no declaration, so a slip of the pen makes a new one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from bunrui.cli.console import say

__all__ = ["say_alike", "say_new"]

_MOST_LABELS = 5000  # that are looked through for one that is like another
_MOST_GROUPS = 3


def say_alike(labels: Collection[str]) -> None:
    """Warn of labels that people take for one.

    >>> import contextlib, sys
    >>> with contextlib.redirect_stderr(sys.stdout):
    ...     say_alike(["spam", "ham", "spam\\u3000", " spam"])
    warning: the labels 'spam', 'spam\\u3000' and ' spam' differ only in spaces: 'bunrui label move' makes one of two
    """
    groups: dict[str, list[str]] = defaultdict(list)
    if len(labels) <= _MOST_LABELS:
        for label in labels:
            groups[" ".join(label.split())].append(label)
    alike = [group for group in groups.values() if len(group) > 1]
    for *others, last in alike[:_MOST_GROUPS]:
        names = f"{', '.join(map(repr, others))} and {last!r}"
        say(f"warning: the labels {names} differ only in spaces: 'bunrui label move' makes one of two")
    if len(alike) > _MOST_GROUPS:
        say(f"warning: {len(alike) - _MOST_GROUPS:,} more groups of labels differ only in spaces")


def say_new(given: Iterable[str], known: Collection[str]) -> None:
    """Say which labels were not there before, and which of those that were is nearly the same.

    >>> import contextlib, sys
    >>> with contextlib.redirect_stderr(sys.stdout):
    ...     say_new(["spam", "hamm", "news"], ["ham", "spam"])
    'hamm' is a new label: did you mean 'ham'? 'bunrui undo' takes this back
    'news' is a new label
    """
    from difflib import get_close_matches

    for label in given:
        if label not in known:
            near = get_close_matches(label, known, n=1) if len(known) <= _MOST_LABELS else []
            meant = f": did you mean {near[0]!r}? 'bunrui undo' takes this back" if near else ""
            say(f"{label!r} is a new label{meant}")
