"""The guide holds together: links lead somewhere, and every page is in the navigation."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tests.blocks import REPOSITORY

DOCS = REPOSITORY / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
MADE = {"demo.html"}  # by `make docs`
CODE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]*`", flags=re.DOTALL | re.MULTILINE)


def text_of(page: str) -> str:
    """A page without its code."""
    return CODE.sub("", (DOCS / page).read_text(encoding="utf-8"))


def anchors_of(path: Path) -> set[str]:
    """The headings of a page as Python-Markdown's table of contents names them, and ids that are given."""
    text = re.sub(r"^( *)```.*?^\1```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"id=\"([^\"]+)\"", text))
    return named | {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)}


def slug(heading: str) -> str:
    """
    >>> slug("From `fastText`: commands side by side")
    'from-fasttext-commands-side-by-side'
    """
    plain = unicodedata.normalize("NFKD", heading.replace("`", "")).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"https?://|mailto:", link):
            continue
        name, _, anchor = link.partition("#")
        if name in MADE:
            continue
        target = (DOCS / page).parent / name if name else DOCS / page
        assert target.is_file(), f"{page} links to {link}, which is not there"
        assert target.resolve().is_relative_to(DOCS), f"{page} links to {link}, which the site does not have"
        if anchor and target.suffix == ".md" and not page.startswith("reference/"):
            assert anchor in anchors_of(target), f"{page} links to {link}: {name or page} has no such heading"


def navigation() -> list[str]:
    """The pages that mkdocs.yml lists."""
    text = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    return re.findall(r"[\s-]([\w/.-]+\.md)$", text.partition("\nnav:")[2], flags=re.MULTILINE)


def test_every_page_is_in_the_navigation() -> None:
    listed = navigation()
    assert sorted(listed) == sorted(set(listed))
    # The records of decisions are listed by scripts of the site, as they come.
    assert {page for page in PAGES if not re.match(r"decisions/\d", page)} == set(listed)


def test_nothing_comes_from_elsewhere() -> None:
    settings: Any = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    for page in PAGES:
        assert not re.search(r"<(?:script|link|img|iframe)\b", text_of(page)), page
