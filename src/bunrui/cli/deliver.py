"""`bunrui deliver`: the filter of a mail delivery agent, such as procmail, maildrop or Sieve."""

from __future__ import annotations

import sys
from contextlib import closing, suppress

import typer

import bunrui
from bunrui.cli import without_collecting
from bunrui.cli.console import describe, say, uninterrupted
from bunrui.cli.documents import reads_tables, say_new
from bunrui.cli.info import Doubts, unsure_option
from bunrui.cli.parameters import Classifier, flag, option
from bunrui.errors import BunruiError, OptionError, UnlearnError
from bunrui.labels import is_known, text_of
from bunrui.phrases import some

# As bogofilter has them; any other would be taken for an answer.
_IS_POSITIVE, _IS_OTHER, _IS_UNSURE, FAILED = range(4)
_USUAL = "spam"


def deliver(
    file: Classifier,
    positive: str | None = option("LABEL", "The label with exit code 0: spam, if it is left out."),
    unsure: float | None = unsure_option("Answer unsure"),
    train: str | None = option("LABEL", "Learn the mail as LABEL; write nothing."),
    untrain: str | None = option("LABEL", "Unlearn the mail, which was learned as LABEL; write nothing."),
    exit_zero: bool = flag("Exit with 0, whatever the answer."),
) -> None:
    """Write a mail from standard input to standard output, with its label in its headers.

    The headers X-Bunrui-Label and X-Bunrui-Probability come first; headers with
    these names that the mail brings are removed. All else stays as it is,
    byte by byte.

    Exit codes are those of bogofilter: 0 the positive label, 1 another label,
    2 unsure, 3 failed. When it fails, the mail is written as it came, without
    headers by these names.

    [bold]Examples[/]

      bunrui deliver mail.bunrui < message
      bunrui deliver mail.bunrui --unsure 0.01 --exit-zero < message
      bunrui deliver mail.bunrui --train spam < message
    """
    data = sys.stdin.buffer.read()
    is_filter = train is None and untrain is None
    try:
        if not is_filter:
            _train(file, data, train, untrain)
            return
        with without_collecting():
            mail, code = _ask(file, data, positive, unsure, exit_zero)
    except Exception as error:  # whatever it is: a mail must not be lost
        known = BunruiError.of_system(error) if isinstance(error, OSError) else error
        said = describe(known, "deliver") if isinstance(known, BunruiError) else f"{type(error).__name__}: {error}"
        say(f"error: {said}")
        if is_filter:
            pass_on(data)
        raise typer.Exit(FAILED) from None
    _write(mail)
    raise typer.Exit(code)


def _ask(file: str, data: bytes, positive: str | None, unsure: float | None, exit_zero: bool) -> tuple[bytes, int]:
    """A mail with its label, and the exit code."""
    from bunrui.deliver import deliver_mail

    with closing(bunrui.open(file, read_only=True)) as classifier:
        if reads_tables(classifier):
            raise OptionError(f"{file} reads tables, and no mail.")
        labels = classifier.classes_.tolist()
        wanted = _USUAL if positive is None else classifier.label_named(positive)
        if not is_known(wanted, labels) and not (exit_zero and positive is None):
            known = some((repr(text_of(label)) for label in labels), most=5)
            raise OptionError(f"{file} has no label {wanted!r}, but {known}: give one of them with --positive.")
        threshold = 0.0 if unsure is None else Doubts(classifier, unsure).threshold
        mail, label, is_sure = deliver_mail(classifier, data, threshold)
    code = _IS_UNSURE if not is_sure else _IS_POSITIVE if label == wanted else _IS_OTHER
    return mail, 0 if exit_zero else code


def _train(file: str, data: bytes, train: str | None, untrain: str | None) -> None:
    """Learn a mail, or unlearn it; one that was learned with another label gets the new one."""
    from bunrui.deliver import read_mail

    if train is not None and untrain is not None:
        raise OptionError("give --train or --untrain, not both.")
    mail = read_mail(data)
    ids = None if mail.id is None else [mail.id]
    with closing(bunrui.open(file)) as classifier, uninterrupted():
        if untrain is not None:
            classifier.unlearn([mail.text], [classifier.label_named(untrain)])
            say(f"unlearned 1 document of {untrain} from {file}")
            return
        assert train is not None
        label, known = classifier.label_named(train), classifier.counts.live_labels
        if classifier.keep != "nothing":
            with suppress(UnlearnError):
                n_docs = classifier.relabel(label, texts=[mail.text])
                say(f"relabelled the mail to {train}" if n_docs else f"{file} knows this mail as {train} already")
                say_new([label], known)
                return
        classifier.learn([mail.text], [label], ids=ids)
        say(f"learned 1 document of {train} into {file}")
        say_new([label], known or [label])


def pass_on(data: bytes | None = None) -> None:
    """Write the mail as it came; one that nobody has read yet, for whoever has called the command in a wrong way."""
    from bunrui.deliver import remove_label

    if data is None:
        data = b"" if sys.stdin.isatty() else sys.stdin.buffer.read()
    _write(remove_label(data))


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
