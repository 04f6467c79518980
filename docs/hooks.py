"""What mkdocs does besides: lists decisions, names the language of a page, refuses what is loaded from elsewhere."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

log = logging.getLogger("mkdocs.hooks.bunrui")

_LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=\"?(https?:)?//[^\"\s>]*")


def on_config(config: Any) -> Any:
    """Put the records of decisions under their list, in the order of their numbers, titled by their headings."""
    records = sorted(Path(config["docs_dir"]).glob("decisions/[0-9][0-9][0-9]-*.md"))
    sections = [pages for entry in config["nav"] for pages in entry.values() if isinstance(pages, list)]
    for entry in (entry for pages in sections for entry in pages):
        if entry.get("Decisions") == "decisions/README.md":
            entry["Decisions"] = ["decisions/README.md", *map(_titled, records)]
    return config


def _titled(path: Path) -> dict[str, str]:
    heading = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").replace("`", "")
    return {heading: f"decisions/{path.name}"}


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Name the language of a translated page, so that browsers choose its font: Japanese and Chinese share characters.

    Warn, which `--strict` makes an error, where a page loads from another machine.
    """
    for found in _LOADED.finditer(output):
        if 'rel="canonical"' not in found[0]:
            log.warning("%s loads from elsewhere: %s", page.file.src_path, found[0])
    folder = page.file.src_path.partition("/")[0]
    return output.replace('<html lang="en"', f'<html lang="{folder}"') if folder in ("ja", "zh", "ko") else output
