"""Code blocks of Markdown, run: the commands and the Python of the README and of the guide.

python   run; an expression with a remark must have that value: `# → 3`, `# array(['spam'])`
bash     run line by line, the commands of bunrui in this process
text     right after a block of commands: what they print on stdout, `…` for anything
sh       commands that need more than a folder (a cluster, a bucket): only their options are checked;
         tests/datasets/test_page.py runs those of docs/datasets.md
"""

from __future__ import annotations

import ast
import glob
import mailbox
import re
import shlex
import tomllib
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bunrui.cli import main
from bunrui.cli.commands import root

REPOSITORY = Path(__file__).resolve().parent.parent

TRAIN = """text,label
cheap pills now,spam
win money fast,spam
your account is locked,phishing
meeting at noon,ham
lunch with the team at noon,ham
"""

SAMPLES = {
    "train.csv": TRAIN,
    "new.csv": "text\nfree pills\nnoon?\n",
    "test.csv": "text,label\ncheap money,spam\nlunch?,ham\n",
    "wrong.csv": "text,label\nwin money fast,spam\n",
    "not-spam.csv": "text\ncheap pills now\n",
    "topics.csv": "text,label\nrice and tea,grain;drink\ntea,drink\nrice,grain\noil,oil\ncrude oil,oil\n",
    "new-topics.csv": "text,label\ntea and oil,drink;oil\n",
    "people.csv": "age,job,note,income\n39,clerk,likes tea,low\n50,boss,owns a boat,high\n28,clerk,new,low\n",
    "new-people.csv": "age,job,note\n31,clerk,likes rice\n",
    "message.eml": "From: a@example.org\nTo: b@example.org\nSubject: pills\n\nfree pills for you\n",
}


class Block(NamedTuple):
    """A block between fences; `line` is that of the opening fence, `after` the language of a block right before it."""

    language: str
    code: str
    line: int
    after: str = ""


def blocks_of(text: str) -> list[Block]:
    """The blocks of a page, in order.

    >>> found = blocks_of("```bash\\nls\\n```\\n\\n```text\\na\\n```\\n")
    >>> [(block.language, block.line, block.after) for block in found]
    [('bash', 1, ''), ('text', 5, 'bash')]
    """
    found: list[Block] = []
    end = 0
    for match in re.finditer(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", text, flags=re.DOTALL | re.MULTILINE):
        code = "".join(line.removeprefix(match[1]) for line in match[3].splitlines(keepends=True))
        after = found[-1].language if found and not text[end : match.start()].strip() else ""
        found.append(Block(match[2], code, text.count("\n", 0, match.start()) + 1, after))
        end = match.end()
    return found


def write_samples(folder: Path) -> None:
    """The files that commands name."""
    for name, text in SAMPLES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "Mail").mkdir()
    box = mailbox.mbox(folder / "Mail" / "spam")
    for word in ("pills", "money"):
        mail = EmailMessage()
        mail["Subject"] = f"free {word}"
        mail.set_content(f"{word} for you")
        box.add(mail)
    box.close()


# --- Python

_REMARK = re.compile(r"  # (?:→ (?P<value>.*)|array\((?P<array>.*)\))$")


def run_python(code: str, names: dict[str, object], where: str, line: int = 0) -> int:
    """Run a block in some names; how many remarks were compared.

    >>> run_python("n = 2\\nif n:\\n    n + 1  # → 3", {}, "here")
    1
    """
    remarks = [_REMARK.search(text) for text in code.splitlines()]
    tree = ast.parse(code)
    n_compared = 0
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for place, statement in enumerate(body if isinstance(body, list) else ()):
            remark = remarks[(statement.end_lineno or 1) - 1] if isinstance(statement, ast.Expr) else None
            if remark is not None:
                said = ast.Constant(remark["value"] or remark["array"])
                call = ast.Call(ast.Name("compare_", ast.Load()), [statement.value, said, ast.Constant(where)], [])
                body[place] = ast.copy_location(ast.Expr(call), statement)
                n_compared += 1
    names["compare_"] = _compare
    ast.increment_lineno(ast.fix_missing_locations(tree), line)
    exec(compile(tree, where, "exec"), names)
    return n_compared


def _compare(value: Any, said: str, where: str) -> None:
    value = value.tolist() if hasattr(value, "tolist") else value
    assert repr(value) == said, f"{where}: {value!r}, not {said}"


# --- commands


class Shell:
    """Runs commands in the folder that is current; what else than bunrui there is in a shell, it knows a little of."""

    def __init__(self, capture: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capture = capture
        self._monkeypatch = monkeypatch
        self.n_commands = 0

    def run(self, code: str) -> str:
        """What a block of commands prints."""
        self._capture.readouterr()
        lines = iter(code.replace("\\\n", " ").splitlines())
        for line in lines:
            if here := re.fullmatch(r"cat > (\S+) <<'EOF'", line):
                text = "".join(f"{each}\n" for each in iter(lambda: next(lines), "EOF"))
                Path(here[1]).write_text(text, encoding="utf-8")
            elif command := line.partition(" # ")[0].strip():
                self.n_commands += 1
                self.command(command)
        return self._capture.readouterr().out

    def command(self, command: str) -> None:
        """Run one command."""
        if command.startswith(("pip ", "make ")):
            check_tools(command)
            return
        stdin = "new.csv"
        if piped := re.fullmatch(r"echo (.*) \| (bunrui .*)", command):
            stdin, command = ".stdin", piped[2]
            Path(stdin).write_text(f"{shlex.split(piped[1])[0]}\n", encoding="utf-8")
        command, _, given = command.partition(" < ")
        with open(given or stdin, encoding="utf-8") as file, self._monkeypatch.context() as patch:
            patch.setattr("sys.stdin", file)
            assert main(arguments_of(command)) == 0, (command, self._capture.readouterr().err)


def arguments_of(command: str) -> list[str]:
    """The arguments of a command of bunrui, patterns and the home of the user filled in.

    >>> arguments_of("bunrui merge all.bunrui 'a b'")
    ['merge', 'all.bunrui', 'a b']
    """
    name, *words = shlex.split(command)
    assert name == "bunrui", f"{command!r} is no command of bunrui"
    arguments: list[str] = []
    for word in words:
        if "*" in word and f"'{word}'" not in command:
            arguments += sorted(glob.glob(word)) or [word]
        else:
            arguments.append(str(Path(word).expanduser()) if word.startswith("~") else word)
    return arguments


def check_options(code: str) -> int:
    """Refuse commands whose options are not there; how many there are."""
    n_commands = 0
    for line in code.replace("\\\n", " ").splitlines():
        for part in line.partition(" # ")[0].split(" | "):
            command = re.sub(r"^(\w+=\S+ )+", "", part.strip())
            if command.startswith("bunrui "):
                n_commands += 1
                group = root()
                name, *arguments = arguments_of(command)
                above = group.make_context("bunrui", [name])
                group.get_command(above, name).make_context(name, arguments, parent=above)
    return n_commands


def check_tools(command: str) -> None:
    """Refuse a target of make, or an extra, that is not there."""
    if command.startswith("make "):
        makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
        assert all(f"\n{target}:" in makefile for target in command.split()[1:]), command
        return
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extras in re.findall(r"\[([\w,]+)\]", command):
        assert set(extras.split(",")) <= set(project["optional-dependencies"]), command


def same_output(printed: str, said: str) -> bool:
    """Whether commands print what a page says, but for spaces and `…`.

    >>> same_output("a   1.5\\n", "a … \\n")
    True
    """
    words = [" ".join(line.split()) for line in said.strip().splitlines()]
    pattern = "\n".join(re.escape(line).replace("…", ".*") for line in words)
    return re.fullmatch(pattern, "\n".join(" ".join(line.split()) for line in printed.strip().splitlines())) is not None
