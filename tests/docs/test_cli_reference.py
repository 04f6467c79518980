"""The page of commands says what the commands say.

`BUNRUI_REWRITE=1 pytest tests/docs/test_cli_reference.py` writes it anew, as `python scripts/cli_reference.py` does.
"""

from __future__ import annotations

import os

from bunrui.cli.commands import COMMANDS
from scripts.cli_reference import PAGE, reference


def test_the_page_is_up_to_date() -> None:
    page = reference()
    if os.environ.get("BUNRUI_REWRITE"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page


def test_every_command_is_there() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"\n### bunrui {name}\n" in page for name in COMMANDS)
