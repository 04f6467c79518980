"""A page that was exported, opened from its file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bunrui.classifier import AnyClassifier
from bunrui.export import make_page
from tests.support.look import Look

Opener = Callable[..., "Opened"]


class Opened:
    """A page in a tab: what its classifier says."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self._look = Look(browser, path, **options)
        self.page = self._look.page
        self.page.wait_for_selector("html[data-ready]")
        self.close = self._look.close

    def ask(self, function: str, argument: Any = None) -> Any:
        """What a function of JavaScript gives; as JSON, since Playwright takes long for large lists."""
        return json.loads(self.page.evaluate(f"(given) => JSON.stringify(({function})(given))", argument))

    def of_each(self, texts: list[str], function: str) -> Any:
        return self.ask(f"(texts) => texts.map((text) => {function})", texts)


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opener]:
    """Open the page of a classifier, or one that is made already; it must do nothing that a good page never does."""
    tabs: list[Opened] = []

    def call(classifier: AnyClassifier | str, name: str = "news", **options: Any) -> Opened:
        html = classifier if isinstance(classifier, str) else make_page(classifier, name).html
        path = tmp_path / f"page{len(tabs)}.html"
        path.write_text(html, encoding="utf-8")
        tabs.append(Opened(browser, path, **options))
        return tabs[-1]

    yield call
    for tab in tabs:
        tab.close()
