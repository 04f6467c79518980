"""The README and the page "Start" in Japanese, Chinese and Korean say what the English ones say.

Section by section, they have the same commands, the same figures and the same links.  A translation has its own example
data: strings, files and remarks differ.  Its section on its own language, `{ #cjk }`, is free; tests run what is in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.blocks import REPOSITORY, Block, blocks_of
from tests.docs.test_links import CODE

LANGUAGES = ("ja", "zh", "ko")
TRANSLATIONS = {"README.md": "README.{}.md", "docs/start.md": "docs/{}/start.md"}
OWN = "{ #cjk }"
FILE = re.compile(r"[\w-]+(?=\.(?:bunrui|csv)\b)")
FIGURE = re.compile(r"(?<![A-Za-z\d])(?:\d*\.\d+|\d+ ?[×倍배]|\d[\d,]*\d)")


def sections_of(name: str) -> list[tuple[int, str]]:
    """The sections of a page, each with the line of its heading."""
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    starts = [0, *(found.start() + 1 for found in re.finditer(r"\n## ", text)), len(text)]
    return [(text.count("\n", 0, a) + 1, text[a:b]) for a, b in pairwise(starts)]


def commands_of(section: str) -> list[str]:
    """The blocks of code as what they do, whatever they do it to.

    >>> commands_of('```bash\\nbunrui explain mail.bunrui "free pills"  # why?\\n```\\n')
    ['bash: bunrui explain ….bunrui "…"']
    >>> commands_of("```python\\nclf.learn(['free pills'], keep='text')  # remark\\n```\\n")
    ["python: clf.learn(['…'], keep='text')"]
    """
    return [f"{block.language}: {line}" for block in blocks_of(section) for line in _SAID[block.language](block)]


def _python(block: Block) -> list[str]:
    return ast.unparse(_Forget().visit(ast.parse(block.code))).splitlines()


class _Forget(ast.NodeTransformer):
    """Forgets the strings in a program, but not its options."""

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        return node if isinstance(node.value, ast.Constant) else ast.keyword(node.arg, self.visit(node.value))

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("…") if isinstance(node.value, str) else node


def _shell(block: Block) -> list[str]:
    code = re.sub(r"(<<'EOF'\n).*?^EOF$", r"\1…", block.code, flags=re.DOTALL | re.MULTILINE)
    code = re.sub(r'"[^"]*"', '"…"', re.sub(r" +# .*", "", code))
    return [re.sub(r" +", " ", line) for line in FILE.sub("…", code).splitlines()]


_SAID: dict[str, Callable[[Block], list[str]]] = {
    "bash": _shell,
    "sh": _shell,
    "python": _python,
    "text": lambda block: [""],  # what the commands print
}


def figures_of(section: str) -> list[str]:
    """The numbers in the text of a section, but for small ones, which may be words.

    >>> figures_of("On two cores: 25,000 reviews, .859, 36× and 1 pass")
    ['25,000', '.859', '36×']
    >>> figures_of("2 コアで 25,000 件、.859、36 倍")
    ['25,000', '.859', '36×']
    """
    found = FIGURE.findall(re.sub(r"\]\([^)]*\)", "]", CODE.sub("", section)))
    return [re.sub(r" ?[×倍배]", "×", figure) for figure in found]


def targets_of(name: str) -> set[Path]:
    """The files to which a page links."""
    links = re.findall(r"\]\(([^)#\s]+)", CODE.sub("", (REPOSITORY / name).read_text(encoding="utf-8")))
    return {(REPOSITORY / name).parent.joinpath(link).resolve() for link in links}


def compare(original: str, translation: str, what: Callable[[str], list[str]]) -> None:
    """Refuse a section that differs from the English one: name both places, and what only one of them has."""
    sections = sections_of(original), sections_of(translation)
    assert len(sections[0]) == len(sections[1]), f"{original} and {translation} differ in their sections"
    for (line, section), (line_, section_) in zip(*sections, strict=True):
        if OWN not in section:
            said, said_ = what(section), what(section_)
            places = f"{original}:{line} and {translation}:{line_}"
            assert said_ == said, f"{places} differ in {set(said) ^ set(said_) or 'order'}: change the second"


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("original", TRANSLATIONS)
@pytest.mark.parametrize("what", [commands_of, figures_of])
def test_sections_agree(original: str, language: str, what: Callable[[str], list[str]]) -> None:
    compare(original, TRANSLATIONS[original].format(language), what)


@pytest.mark.parametrize("original", TRANSLATIONS)
def test_links_agree_and_lead_somewhere(original: str, language: str) -> None:
    """A translated page stands for the English one; each links to the other."""
    own = {REPOSITORY / page: REPOSITORY / name.format(language) for page, name in TRANSLATIONS.items()}
    page = own[REPOSITORY / original]
    linked = targets_of(page.relative_to(REPOSITORY).as_posix())
    assert {path for path in linked if not path.exists()} == set()
    assert REPOSITORY / original in linked and page in targets_of(original)
    assert {own.get(path, path) for path in targets_of(original)} - linked == {page}


def test_the_section_of_its_own_says_what_is_printed(language: str) -> None:
    (own,) = (text for _, text in sections_of(TRANSLATIONS["docs/start.md"].format(language)) if OWN in text)
    printed = "".join(block.code for block in blocks_of(own) if block.language == "text")
    said = [figure for figure in figures_of(own) if figure.startswith(".")]
    assert len(said) >= 3 and {figure for figure in said if f"0{figure}" not in printed} == set()


@pytest.mark.parametrize("original", TRANSLATIONS)
def test_a_paragraph_is_a_line(original: str, language: str) -> None:
    """Browsers show a line break as a space, which Japanese and Chinese do not have."""
    text = CODE.sub("`", (REPOSITORY / TRANSLATIONS[original].format(language)).read_text(encoding="utf-8"))
    assert re.findall(r"^[^#|\n].*\n[^#|\n].*", text, flags=re.MULTILINE) == []


@pytest.mark.parametrize(("what", "old", "new"), [(commands_of, "--loo", "--folds 5"), (figures_of, ".919", ".91")])
def test_a_difference_is_told(what: Callable[[str], list[str]], old: str, new: str, tmp_path: Path) -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8") + "\n```bash\nbunrui evaluate a.bunrui --loo\n```\n"
    for name, said in (("one.md", text), ("two.md", text.replace(old, new))):
        (tmp_path / name).write_text(said, encoding="utf-8")
    one, two = (str(tmp_path / name) for name in ("one.md", "two.md"))
    compare(one, one, what)
    with pytest.raises(AssertionError, match=rf"one.md:\d+ and \S+two.md:\d+ differ in .*{re.escape(new)}"):
        compare(one, two, what)
