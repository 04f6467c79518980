"""A fingerprint for a function of the user's: the same in every process, another where it does something else.

What decides is its code, its defaults and the values that it closes over.  The code is that of the Python that runs: a
function that is to keep its fingerprint under another one says so with an attribute, `tokens.fingerprint = "mine, 1"`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType
from typing import Any

from bunrui.analysis.spec import digest
from bunrui.errors import OptionError

__all__ = ["function_fingerprint"]

_PLAIN = (str, bytes, int, float, bool, type(None))


def function_fingerprint(function: Callable[..., Any]) -> str:
    """A digest of what a function does.

    Raises
    ------
    OptionError
        For a callable object whose doing cannot be seen and that has no attribute `fingerprint`.

    Examples
    --------
    >>> function_fingerprint(lambda text: text.split(",")) == function_fingerprint(lambda text: text.split(";"))
    False
    """
    return digest({"function": _told(function)})


def _told(value: Any) -> Any:
    """A value as something that JSON can hold, without an address in it."""
    given = getattr(value, "fingerprint", None)
    if isinstance(given, str):
        return ["fingerprint", given]
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(_told, value)]
    if isinstance(value, (set, frozenset)):
        return ["set", *sorted(map(repr, map(_told, value)))]
    if isinstance(value, dict):
        return ["dict", *sorted(repr((_told(k), _told(v))) for k, v in value.items())]
    if isinstance(value, CodeType):
        return [value.co_code.hex(), _told(value.co_consts), list(value.co_names)]
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return [value.__module__, value.__qualname__, _told(value.__code__), _told(value.__defaults__), _told(cells)]
    if isinstance(value, partial):
        return ["partial", _told(value.func), _told(value.args), _told(value.keywords)]
    if isinstance(value, (BuiltinFunctionType, MethodDescriptorType, type)):
        return [getattr(value, "__module__", None), value.__qualname__]
    raise OptionError(
        f"an analyzer of type {type(value).__name__} cannot be told from others of its kind: "
        'give it an attribute fingerprint, a string such as "my tokens, version 1"'
    )
