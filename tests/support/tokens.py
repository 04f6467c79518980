"""What an analyzer finds, without the places."""

from __future__ import annotations

from typing import Any


def words(analyzer: Any, text: str) -> list[str]:
    """The tokens' texts."""
    return [token.text for token in analyzer.tokens(text)]
