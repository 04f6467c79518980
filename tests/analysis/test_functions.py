"""Fingerprints of functions: equal in every process, different where the functions differ."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial

import pytest

from bunrui import TextClassifier
from bunrui.analysis.spec import function_fingerprint
from bunrui.errors import MismatchError, OptionError


def cut(n: int) -> Callable[[str], list[str]]:
    return lambda text: [text[i : i + n] for i in range(0, len(text), n)]


def named(text: str) -> list[str]:
    return text.split()


class Cutter:
    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, text: str) -> list[str]:
        return [text[i : i + self.n] for i in range(0, len(text), self.n)]


def test_what_differs_differs() -> None:
    functions = [
        cut(2),
        cut(3),
        named,
        str.split,
        str.splitlines,
        partial(str.split, sep=","),
        partial(str.split, sep=";"),
    ]
    assert len({function_fingerprint(function) for function in functions}) == len(functions)


def test_what_is_equal_is_equal() -> None:
    assert function_fingerprint(cut(2)) == function_fingerprint(cut(2))
    assert function_fingerprint(partial(str.split, sep=",")) == function_fingerprint(partial(str.split, sep=","))


def test_the_same_in_another_process() -> None:
    code = (
        "from bunrui.analysis.spec import function_fingerprint as f\n"
        "print(f(lambda text: [word for word in text.split() if word != 'x']))"
    )
    runs = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in "ab"
    }
    assert len(runs) == 1


def test_an_object_needs_a_fingerprint() -> None:
    cutter = Cutter(2)
    with pytest.raises(
        OptionError, match=r"^an analyzer of type Cutter cannot be told from others of its kind: give it"
    ):
        TextClassifier(analyzer=cutter)
    cutter.fingerprint = "two letters"  # type: ignore[attr-defined]
    assert TextClassifier(analyzer=cutter).learn(["abcd"], ["x"]).counts.features() == ["ab", "cd"]


def test_other_functions_do_not_merge() -> None:
    one, other = (TextClassifier(analyzer=cut(n)).learn(["abcd"], ["x"]) for n in (1, 3))
    with pytest.raises(MismatchError):
        one.merge(other)
