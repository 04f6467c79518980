"""The names of the package: functions, whose modules have the same names."""

from __future__ import annotations

import pytest

from bunrui import selection
from tests.support.processes import run_python


@pytest.mark.parametrize("name", ["audit", "calibrate", "compare", "tune"])
def test_a_function_is_not_hidden_by_its_module(name: str) -> None:
    """Whoever imports the module first: then the package has it as an attribute, for a moment."""
    code = (
        f"import sys; import bunrui.selection.{name}; from bunrui.selection import {name}; "
        f"print(callable({name}), *sorted({{'sklearn', 'scipy', 'rich'}} & set(sys.modules)))"
    )
    assert run_python(code).split() == ["True"]


def test_every_name_is_there() -> None:
    assert all(callable(getattr(selection, name)) for name in selection.__all__)
