"""Tables of `unicode.npz` that only tests read."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.kernel.unicode import PATH


@cache
def stored() -> dict[str, npt.NDArray[Any]]:
    """All arrays of the file."""
    with np.load(PATH, allow_pickle=False) as file:
        return dict(file)


@cache
def assigned() -> npt.NDArray[np.bool_]:
    """Whether a code point had a character in UNICODE_VERSION, (N_CODES,)."""
    return stored()["assigned_blocks"][stored()["assigned_index"]].reshape(-1)
