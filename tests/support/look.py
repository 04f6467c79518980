"""A page in a browser, from a file: a tab that notices what a good page never does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.waiting import PATIENCE

WATCH = "window.broken = []; addEventListener('securitypolicyviolation', (e) => broken.push(e.violatedDirective));"
WIDE = {"width": 1200, "height": 900}


class Look:
    """The page in a tab; whatever a good page never does is collected in `faults`."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.context = browser.new_context(**({"viewport": WIDE} | options))
        self.context.set_default_timeout(1000 * PATIENCE)
        self.context.add_init_script(WATCH)
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.page.on("console", lambda said: self.faults.append(said.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.faults.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda asked: asked.url.startswith(path.as_uri()) or self.faults.append(asked.url))
        self.page.goto(path.as_uri())

    def close(self) -> None:
        self.faults += self.page.evaluate("broken")
        self.context.close()
        assert self.faults == []


def violations(page: Any) -> list[str]:
    """What axe finds that keeps people out."""
    found = page.evaluate("axe.run(document, { preload: false, resultTypes: ['violations'] })")["violations"]
    return [
        f"{one['id']}: {node['target']} {node['html'][:150]} {node.get('failureSummary', '')[:300]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
