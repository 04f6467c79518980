"""Count the lines of code: without blank lines, comments and docstrings.

python scripts/size.py [CHECKOUT …]    a table of packages; several checkouts stand side by side
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

_QUIET = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
_PAGES = (".js", ".css", ".html")


def code_lines(source: str) -> int:
    """The lines of a Python file that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _QUIET and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            lines.difference_update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def sizes(checkout: Path) -> tuple[Counter[str], Counter[str]]:
    """Lines and files of each package, and of the pages."""
    house = checkout / "src" / "bunrui"
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in sorted(house.rglob("*")):
        inside = path.relative_to(house)
        package = inside.parts[0] if len(inside.parts) > 1 else "(top)"
        if path.suffix == ".py":
            lines[package] += code_lines(path.read_text())
        elif path.suffix in _PAGES:
            package = f"pages {path.suffix}"
            lines[package] += sum(1 for line in path.read_text().splitlines() if line.strip())
        else:
            continue
        files[package] += 1
    return lines, files


def shared_names(checkout: Path) -> list[tuple[str, list[str]]]:
    """Modules whose name stands in several packages."""
    house = checkout / "src" / "bunrui"
    places: dict[str, list[str]] = {}
    for path in sorted(house.rglob("*.py")):
        if not path.name.startswith("__"):
            places.setdefault(path.stem, []).append(str(path.relative_to(house).parent))
    return [(name, where) for name, where in places.items() if len(where) > 1]


def main() -> None:
    """Print the table."""
    checkouts = [Path(name) for name in sys.argv[1:]] or [Path(__file__).parent.parent]
    found = [sizes(checkout) for checkout in checkouts]
    packages = sorted(set().union(*(lines for lines, _ in found)), key=lambda name: -found[0][0][name])
    width = max(map(len, packages))
    for package in packages:
        cells = "".join(f"{lines[package]:>9,} in {files[package]:>3}" for lines, files in found)
        print(f"{package:<{width}}{cells}")
    totals = "".join(
        f"{sum(lines[p] for p in lines if not p.startswith('pages')):>9,} in "
        f"{sum(files[p] for p in files if not p.startswith('pages')):>3}"
        for lines, files in found
    )
    print(f"{'Python':<{width}}{totals}")
    for name, where in shared_names(checkouts[-1]):
        print(f"{name}: {', '.join(where)}")


if __name__ == "__main__":
    main()
