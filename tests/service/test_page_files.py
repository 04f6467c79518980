"""The files of the page: all languages say everything, and nothing is parsed that should be shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import bunrui
from bunrui import errors
from bunrui.service.errors import KINDS, problem_of

WEB = Path(bunrui.__file__).parent / "service" / "web"
STRINGS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (WEB / "lang").glob("*.json")}
VIEWS = Path(bunrui.__file__).parent / "views"
EXPORT = Path(bunrui.__file__).parent / "export"
SCRIPTS = sorted([*WEB.rglob("*.js"), *VIEWS.rglob("*.js"), *EXPORT.rglob("*.js")])
ENGLISH = STRINGS["en"]


def test_all_languages_are_here() -> None:
    assert set(STRINGS) == {"en", "ja", "zh", "ko"}


@pytest.mark.parametrize("language", ["ja", "zh", "ko"])
def test_all_languages_have_the_same_keys(language: str) -> None:
    strings = STRINGS[language]
    assert list(strings) == list(ENGLISH)
    for key, text in strings.items():
        names = [sorted(re.findall(r"\{\w+\}", one)) for one in (text, ENGLISH[key])]
        assert text.strip() and names[0] == names[1], key


def test_a_language_is_not_a_copy() -> None:
    for language in ("ja", "zh", "ko"):
        same = [key for key in ENGLISH if STRINGS[language][key] == ENGLISH[key]]
        assert set(same) <= {"predict.moved", "evaluate.f1.short", "cause.in"}, language


def test_keys_that_are_used_are_there_and_the_other_way_round() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in [*SCRIPTS, WEB / "index.html", *VIEWS.glob("*.py")])
    used = set(re.findall(r"""["'`]([a-z]+\.[a-z0-9.-]+)["'`]""", source)) - {"bunrui.token"}
    used |= {f"{name}.{part}" for name in re.findall(r"\bview\(\s*\"(\w+)\"", source) for part in ("title", "about")}
    known = {re.sub(r"\.(one|other)$", "", key) for key in ENGLISH}
    spelled = {key for key in used if key.partition(".")[0] in {name.partition(".")[0] for name in known}}
    assert spelled <= known
    # made from parts: problems and changes by their kind, themes, views, columns, verdicts
    made = re.compile(r"(problem|cause|theme|train|compare|history\.kind|predict\.example|file\.order)\b|\w+\.title$")
    assert {key for key in known - spelled if not made.match(key)} == set()


def test_every_problem_has_a_name() -> None:
    kinds = {key.partition(".")[2] for key in ENGLISH if key.startswith("problem.")}
    assert kinds == {*KINDS, "unreachable", "page", "file"}


NAMED = {"changed", "label-set"}  # problems of their own


def test_every_cause_has_phrases() -> None:
    """The other languages have the same keys."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.BunruiError)]
    kinds = [kind for kind in kinds if kind not in (errors.BunruiError, errors.MissingExtraError)]
    raised = [*(kind("x") for kind in kinds), errors.MissingExtraError("ja", "fugashi")]
    causes = {problem_of(error, "").fields["cause"] for error in raised}
    limits = {"bytes", "unpacked", "memory", "documents", "characters"}
    own = "".join(path.read_text(encoding="utf-8") for path in Path(bunrui.__file__).parent.rglob("*.py"))
    named = set(re.findall(r'(?:"cause": |\bcause ?= ?)"([a-z]+[a-z-]*)"', own))
    said = {key.partition(".")[2] for key in ENGLISH if key.startswith("cause.")}
    assert said == (causes - NAMED) | named | limits | {"choices", "in", "line"}
    assert causes >= NAMED


PARSES = r"(?:inner|outer|Adjacent)HTML|document\.write|DOMParser|ContextualFragment|\beval\(|new Function|srcdoc"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.relative_to(VIEWS.parent).as_posix())
def test_no_script_parses_markup(path: Path) -> None:
    """But one function, for drawings that the service has made."""
    expected = ["DOMParser"] if path.name == "dom.js" else []
    assert re.findall(PARSES, path.read_text(encoding="utf-8")) == expected


def test_only_drawings_are_parsed() -> None:
    """They come in the member `html` of an answer, or in a member of that."""
    drawn = [name for path in SCRIPTS for name in re.findall(r"\bdrawing\(([^)]*)\)", path.read_text(encoding="utf-8"))]
    assert len(drawn) > 5
    assert all(re.search(r"\bhtml\b|^confusion$|^markup$", name) for name in drawn), drawn


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    page = (WEB / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style| style=| on\w+=", page) == []
    for path in WEB.rglob("*"):
        if path.is_file():
            found = re.findall(r"https?://[\w./-]+", path.read_text(encoding="utf-8"))
            assert set(found) <= {"http://www.w3.org/2000/svg"}, path
