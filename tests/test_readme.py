"""Every command and every block of Python in the README runs."""

from __future__ import annotations

import mailbox
import re
import shlex
from email.message import EmailMessage
from pathlib import Path

import pytest

from bunrui.cli import main

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
COMMANDS = [line.partition(" # ")[0].strip() for line in README.splitlines() if line.startswith("    bunrui ")]
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)

TRAIN = """text,label
cheap pills now,spam
win money fast,spam
your account is locked,phishing
meeting at noon,ham
lunch with the team at noon,ham
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the commands name, which is the home of the user, too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, text in {
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
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "Mail").mkdir()
    box = mailbox.mbox(tmp_path / "Mail" / "spam")
    for word in ("pills", "money"):
        mail = EmailMessage()
        mail["Subject"] = f"free {word}"
        mail.set_content(f"{word} for you")
        box.add(mail)
    box.close()
    for day in ("monday", "tuesday"):
        assert main(["learn", f"{day}.bunrui", "train.csv"]) == 0
    return tmp_path


def test_the_commands_run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(COMMANDS) > 15
    for command in COMMANDS:
        command, _, stdin = command.partition(" < ")
        arguments = [word.replace("~", str(folder)) for word in shlex.split(command)[1:]]
        with open(stdin or "new.csv", encoding="utf-8") as file, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", file)
            assert main(arguments) == 0, (command, capsys.readouterr().err)
    assert (folder / "public.bunrui").stat().st_size < (folder / "mail.bunrui").stat().st_size + 4096


def test_the_python_runs(folder: Path) -> None:
    names: dict[str, object] = {}
    assert len(BLOCKS) >= 4
    for block in BLOCKS:
        for line, value in _lines(block, names):
            comment = line.partition("  # array(")[2]
            if comment:
                assert repr(value.tolist()) == comment.strip().removesuffix(")"), line


def _lines(block: str, names: dict[str, object]) -> list[tuple[str, object]]:
    """Run a block; the lines that are expressions with a remark, with their values."""
    values = []
    whole: list[str] = []
    for line in block.splitlines():
        bare = line.strip()
        if "  # array(" in bare and line == bare:
            exec("\n".join(whole), names)
            whole = []
            values.append((bare, eval(bare, names)))
        elif "  # array(" in bare:  # inside a `with`
            whole.append(line.replace(bare, f"value_ = {bare}"))
            exec("\n".join(whole), names)
            whole = []
            values.append((bare, names["value_"]))
        else:
            whole.append(line)
    exec("\n".join(whole), names)
    return values
