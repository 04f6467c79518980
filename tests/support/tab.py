"""The page of a service in a browser: a tab that notices what a good page never does."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.service.conftest import TOKEN, Server
from tests.support.waiting import PATIENCE

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
Browser = Page = Any

EXPECTED = sync_api.expect
EXPECTED.set_options(timeout=1000 * PATIENCE)
WATCH = "window.broken = []; addEventListener('securitypolicyviolation', (e) => broken.push(e.violatedDirective));"


class Tab:
    """A page of a service; whatever a good page never does is collected in `faults`."""

    def __init__(self, browser: Browser, server: Server, **options: Any) -> None:
        self.context = browser.new_context(**{"locale": "en-US", "viewport": {"width": 1100, "height": 800}, **options})
        self.context.set_default_timeout(1000 * PATIENCE)
        self.context.add_init_script(WATCH)
        self.page: Page = self.context.new_page()
        self.server = server
        self.faults: list[str] = []
        self.page.on(
            "console", lambda said: self.faults.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.faults.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda asked: asked.url.startswith(server.url) or self.faults.append(asked.url))

    def open(self, view: str = "", token: str | None = TOKEN) -> Page:
        self.page.goto(f"{self.server.url}/{f'#token={token}' if token else ''}")
        self.page.wait_for_selector("html[data-ready]")
        if view:
            self.go(view)
        return self.page

    def reload(self) -> None:
        self.page.reload()
        self.page.wait_for_selector("html[data-ready]")

    def go(self, view: str) -> None:
        self.page.locator(f"nav a[data-view={view}]").click()
        EXPECTED(self.page.locator(f"#{view}-title")).to_be_visible()

    @property
    def view(self) -> Any:
        return self.page.locator("section.view:visible")

    def predict(self, text: str) -> str:
        """Type a text: the label that it gets."""
        self.page.fill("#text", text)
        self.page.keyboard.press("Control+Enter")
        EXPECTED(self.page.locator(".result .text").first).to_contain_text(text[:20])
        return str(self.page.locator(".headline .label").first.text_content())

    def close(self, *expected: str) -> None:
        """Whatever is expected, and told in the console: browsers log every answer that is no success."""
        self.faults = [fault for fault in self.faults if not any(part in fault for part in ("409", *expected))]
        self.faults += self.page.evaluate("broken")
        self.faults += re.findall(r"\[object \w+|undefined|NaN", self.page.locator("body").inner_text())
        self.context.close()
        assert self.faults == []


class Held:
    """Requests to an address that get no answer before they are let go."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._page, self._pattern, self._waiting, self._is_over = page, pattern, [], False
        page.route(pattern, lambda route: route.continue_() if self._is_over else self._waiting.append(route))

    def let_go(self) -> None:
        """Have the requests answered, and wait until the page has the answers."""
        self._is_over = True
        for route in self._waiting:
            with self._page.expect_response(self._pattern) as answer:
                route.continue_()
            answer.value.finished()
        self._page.evaluate("new Promise((resolve) => setTimeout(resolve))")


def n_documents(server: Server) -> int:
    return int(server.client.get("/v1/info").json()["documents"])


def last_change(server: Server) -> dict[str, Any]:
    return dict(server.client.get("/v1/log", params={"limit": 1}).json()["changes"][0])


def table(kind: str, rows: list[dict[str, str]]) -> bytes:
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    if kind == "parquet":
        out = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), out)
        return out.getvalue()
    lines = io.StringIO()
    writer = csv.DictWriter(lines, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return lines.getvalue().encode()


def upload(tab: Tab, name: str, body: bytes) -> None:
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": body}
    EXPECTED(tab.view.locator(".drop.large")).to_be_enabled()  # else it is not taken
    tab.view.locator(".drop.large input[type=file]").set_input_files(file)
