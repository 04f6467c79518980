"""Documents of two labels that few labelled ones tell apart badly, and a pool that helps."""

from __future__ import annotations

import random


def two_topics(n_labelled: int = 24, n_pool: int = 160, seed: int = 1) -> tuple[list[str], list[str], list[str]]:
    """Texts, their labels, and texts without a label: four of a hundred words of a topic, and two of any text."""
    draw = random.Random(seed)

    def text(topic: str) -> str:
        words = [f"{topic}{draw.randrange(100)}" for _ in range(4)] + [f"word{draw.randrange(30)}" for _ in range(2)]
        return " ".join(words)

    labels = [("tea", "oil")[k % 2] for k in range(n_labelled)]
    return [text(label) for label in labels], labels, [text(("tea", "oil")[k % 2]) for k in range(n_pool)]
