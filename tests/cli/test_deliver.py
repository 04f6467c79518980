"""`deliver`: a mail in, the same mail with its label out, with the exit codes of bogofilter."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from email import message_from_bytes, policy
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bunrui
from bunrui.cli import main
from bunrui.documents.mail import stamp

SPAM = b"Subject: cheap pills\nFrom: a@example.org\nMessage-ID: <1@x>\n\nwin money fast\n"
HAM = b"Subject: meeting\nFrom: b@example.org\n\nlunch with the team at noon\n"


class Done(NamedTuple):
    code: int
    out: bytes
    err: str


Deliver = Callable[..., Done]


@pytest.fixture
def deliver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Deliver:
    """Run `bunrui deliver mail.bunrui` on a mail, where the file has learned a little."""
    monkeypatch.chdir(tmp_path)
    texts = ["cheap pills now", "win money fast", "meeting at noon", "lunch with the team at noon"]
    with bunrui.create("mail.bunrui") as clf:
        clf.learn(texts, ["spam", "spam", "ham", "ham"])

    def call(data: bytes, *options: str, file: str = "mail.bunrui") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = main(["deliver", file, *options])
        out, err = capsysbinary.readouterr()
        return Done(code, out, err.decode())

    return call


def test_the_label_is_in_the_headers(deliver: Deliver) -> None:
    done = deliver(SPAM)
    head, _, body = done.out.partition(b"\n\n")
    assert (done.code, done.err) == (0, "") and body == b"win money fast\n"
    lines = head.decode().splitlines()
    assert [lines[0], *lines[2:]] == ["X-Bunrui-Label: spam", *SPAM.decode().splitlines()[:3]]
    name, _, value = lines[1].partition(": ")
    assert name == "X-Bunrui-Probability" and 0.5 < float(value) <= 1 and len(lines) == 5
    done = deliver(HAM)
    assert done.code == 1 and done.out.startswith(b"X-Bunrui-Label: ham\n")


def test_old_labels_are_removed(deliver: Deliver) -> None:
    forged = HAM.replace(b"From:", b"X-Bunrui-Label: spam\nx-bunrui-probability : 0.9,\n folded\nFrom:")
    assert deliver(forged).out == deliver(HAM).out
    assert deliver(deliver(HAM).out).out == deliver(HAM).out


@pytest.mark.parametrize(("positive", "codes"), [("ham", (1, 0)), ("spam", (0, 1))])
def test_the_positive_label(deliver: Deliver, positive: str, codes: tuple[int, int]) -> None:
    assert (deliver(SPAM, "--positive", positive).code, deliver(HAM, "--positive", positive).code) == codes
    assert deliver(HAM, "--positive", positive, "--exit-zero").code == 0


def test_unsure(deliver: Deliver) -> None:
    words = {"spam": ["pills", "money"], "ham": ["noon", "lunch"]}
    with bunrui.create("sure.bunrui") as clf:
        rows = [(f"{words[label][k % 2]} {k}", label) for k in range(60) for label in words]
        rows += [(f"zebra {k}", label) for k in range(10) for label in words]  # nobody can tell
        clf.learn(*map(list, zip(*rows, strict=True)))
    done = deliver(b"Subject: zebra\n\nquagga\n", "--unsure", "0.01", file="sure.bunrui")
    assert done.code == 2 and done.out.startswith(b"X-Bunrui-Label: unsure\n")
    assert deliver(b"Subject: zebra\n\nquagga\n", "--unsure", "0.01", "--exit-zero", file="sure.bunrui").code == 0
    assert deliver(b"Subject: pills\n\npills money\n", "--unsure", "0.01", file="sure.bunrui").code == 0


@pytest.mark.parametrize(
    ("data", "options", "file", "told"),
    [
        (SPAM, (), "none.bunrui", "none.bunrui"),
        (SPAM, ("--positive", "phishing"), "mail.bunrui", "no label 'phishing', but 'ham', 'spam'"),
        (SPAM, ("--unsure", "0.01"), "mail.bunrui", "needs probabilities that can be believed"),
        (b"", (), "mail.bunrui", "there is no mail: give its headers"),
    ],
)
def test_a_failure_loses_no_mail(deliver: Deliver, data: bytes, options: tuple[str, ...], file: str, told: str) -> None:
    done = deliver(data, *options, file=file)
    assert (done.code, done.out) == (3, data) and told in done.err


def test_nobody_else_labels_a_mail(deliver: Deliver) -> None:
    inner = b"".join(b"--b%d\nContent-Type: multipart/mixed; boundary=b%d\n\n" % (k, k + 1) for k in range(2000))
    deep = b"Content-Type: multipart/mixed; boundary=b0\n\n" + inner
    done = deliver(b"X-Bunrui-Label: ham\nX-Bunrui-Probability: 1\n" + deep, "--exit-zero")
    assert (done.code, done.out) == (3, deep)
    assert deliver(b"X-Bunrui-Label: ham\n" + SPAM, file="none.bunrui").out == SPAM


def test_wrong_usage_is_no_answer_and_loses_no_mail(deliver: Deliver) -> None:
    for options in [("--unsure", "2"), ("--nonsense",), ("one", "too", "many")]:
        assert deliver(SPAM, *options)[:2] == (3, SPAM)
    assert deliver(SPAM, "--train", "spam", "--untrain", "spam").code == 3


def test_train_and_untrain(deliver: Deliver) -> None:
    def n_docs() -> dict[str, int]:
        with bunrui.open("mail.bunrui", read_only=True) as clf:
            return dict(clf.info()["labels"])

    assert deliver(HAM, "--train", "spam") == (0, b"", "learned 1 document of spam into mail.bunrui\n")
    assert n_docs() == {"ham": 2, "spam": 3}
    assert deliver(HAM, "--train", "spam").err == "mail.bunrui knows this mail as spam already\n"
    assert deliver(HAM, "--train", "ham").err == "relabelled the mail to ham\n" and n_docs() == {"ham": 3, "spam": 2}
    assert deliver(HAM, "--untrain", "ham") == (0, b"", "unlearned 1 document of ham from mail.bunrui\n")
    assert n_docs() == {"ham": 2, "spam": 2}
    new = "'hma' is a new label: did you mean 'ham'? 'bunrui undo' takes this back\n"
    assert deliver(HAM, "--train", "hma").err == f"learned 1 document of hma into mail.bunrui\n{new}"
    assert deliver(HAM, "--untrain", "hma").code == 0
    done = deliver(HAM, "--untrain", "ham")
    assert (done.code, done.out) == (3, b"") and "never learned" in done.err
    deliver(SPAM, "--train", "spam")
    with bunrui.open("mail.bunrui", read_only=True) as clf:
        assert [document.id for document in clf.documents()][-1] == "<1@x>"


@pytest.mark.parametrize(
    "data",
    [
        b"no headers at all",
        b"\n\nonly a body\n",
        b"From a@b Mon Nov 16 12:00:00 2026\nSubject: x\n\nbody\n",
        b"Subject: x\r\nTo: y\r\n\r\nbody\r\n",
        b"Subject: x",
        b"From: a@b\nSubject: hi\rthere\nno colon here\nContent-Type: text/html\n\n<b>hi</b>\n",
        b"Subject: \xff\xfe\0\n\n\0\0\xff",
        b"Subject: " + b"a" * 100_000 + b"\n\n" + b"word " * 20_000,
        b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\nContent-Type: multipart/mixed; boundary=x\n\n" * 50,
    ],
)
def test_hostile_mail(deliver: Deliver, data: bytes) -> None:
    done = deliver(data)
    assert done.code in (0, 1) and done.err == ""
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    lines = done.out.split(newline)
    place = next(k for k, line in enumerate(lines) if line.startswith(b"X-Bunrui-Label: "))
    assert lines[place + 1].startswith(b"X-Bunrui-Probability: ")
    del lines[place : place + 2]
    left = newline.join(lines)
    assert left in (data, newline + data)


def test_labels_become_headers_of_one_line(tmp_path: Path) -> None:
    for label in ["月曜日", "two\nlines: x", "tab\there", "a" * 500, "é" * 200, "\0"]:
        found = message_from_bytes(stamp(b"Subject: x\n\nbody", {"X-Label": label}), policy=policy.default)
        assert found["Subject"] == "x" and found.get_content() == "body"
        assert found["X-Label"].replace("\0", "") == " ".join(label.split()).replace("\0", "")


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.sampled_from([b"X-A: 1", b"x-a : 2", b" folded", b"\t", b"", b"From: y", b"text", b":", b"\xff: z", b"\r"])
    )
)
def test_stamping_twice_is_stamping_once(lines: list[bytes]) -> None:
    for newline in (b"\n", b"\r\n"):
        once = stamp(newline.join(lines), {"X-A": "new"})
        assert stamp(once, {"X-A": "new"}) == once and once.count(b"X-A: new") == 1


def test_exit_zero_needs_no_label_spam(deliver: Deliver) -> None:
    with bunrui.create("own.bunrui") as clf:
        clf.learn(["invoice", "newsletter"], ["bills", "a\nb"])
    done = deliver(HAM, "--exit-zero", file="own.bunrui")
    assert done.code == 0 and done.out.startswith(b"X-Bunrui-Label: ")
    done = deliver(HAM, file="own.bunrui")
    assert done.code == 3 and "no label 'spam', but 'a\\nb', 'bills': give one" in done.err
