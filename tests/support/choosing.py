"""Documents for which `auto` chooses another model than the plain default."""

from __future__ import annotations

import numpy as np


def choosing(n: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Short texts of eight classes: on 1,000 of them the plain default is at .86, another candidate at .94."""
    shares = np.random.default_rng(7).dirichlet(np.full(300, 0.3), 8)
    rng = np.random.default_rng(seed)
    classes = rng.integers(8, size=n).tolist()
    texts = [" ".join(f"u{word}" for word in rng.choice(300, 6, p=shares[c])) for c in classes]
    return texts, [f"c{c}" for c in classes]
