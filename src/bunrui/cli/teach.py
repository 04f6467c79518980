"""`bunrui teach`: documents without labels, one after the other, and one key for each answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

import bunrui
from bunrui.cli.console import interrupts, say, say_reading
from bunrui.cli.documents import read_all, reads_tables
from bunrui.cli.learn import Wanted
from bunrui.cli.options import Documents, LearnedAnalysis, Model
from bunrui.cli.parameters import argument, file_argument, flag, option, split_names
from bunrui.errors import DataError, LabelError, OptionError
from bunrui.labels import text_of
from bunrui.phrases import counted, excerpt, one_line, some, unfit, visible

# The letters that are left out do something else.
_KEYS = "123456789abcdefghijklmoprtvwxyz"
_DIGITS = frozenset("0123456789")
_NEW, _SEARCH, _SEVERAL = "n", "/", ","
_KEYS_BESIDE = "/ search  n new  , several  s skip  u undo  q stop"
_END = "\x04"  # Ctrl-D
_MOST_LINES = 30
_FEWEST = 10  # answers to documents at random: fewer leave an accuracy more than half wide


class _Action(Enum):
    """A key that answers with no label; no string, because a label may have the name of a key."""

    SKIP = "s"
    UNDO = "u"
    QUIT = "q"


_ACTIONS = {action.value: action for action in _Action}


def teach(
    *,
    file: str = file_argument("FILE", "The classifier; made if it is not there."),
    data: list[str] = argument("DATA", "Files, folders or mailboxes; labels in them are not read.", required=True),
    documents: Documents,
    model: Model,
    analysis: LearnedAnalysis,
    labels: str | None = option(
        "NAMES", "Names of labels, with commas. New ones may come at any time.", callback=split_names
    ),
    wish: float | None = option(
        "ACCURACY", "Say how many answers an accuracy such as 0.9 still takes.", min=0.0, max=1.0
    ),
    unlabelled: bool = flag("Learn from DATA as texts without a label, too, where that helps."),
) -> None:
    """Label documents with one key each, and teach a classifier with them.

    The next document is one whose answer helps most. Every fifth comes at
    random: those tell the accuracy on DATA, each predicted by the classifier
    of all other answers. An answer is learned at once, and is in FILE even if
    the terminal closes. To go on later, start the command again: it does not ask
    twice. Several people can teach one FILE; the log says who has answered if
    the environment variable BUNRUI_AUTHOR has the name.

    With --unlabelled, at most 5,000 documents of DATA, at random, help as texts
    without a label. FILE tells by its answers whether they help, and how much
    they count: anew whenever answers have doubled. 'bunrui forget FILE
    --unlabelled' takes them back.

    Keys: the one beside a label; / to search for a label, n for a new label,
    a comma before several labels and Enter after them, s to skip, u to undo,
    q to stop. Where labels outnumber keys, Enter gives the likely label that
    has none.

    [bold]Examples[/]

      bunrui teach mail.bunrui inbox.csv --labels spam,ham
      bunrui teach mail.bunrui inbox.csv --text subject --text body --wish 0.95
    """
    if "-" in data:
        raise OptionError("the standard input has the keys: give DATA as files.")
    given = list(labels or ())  # names, since the callback has split them
    for k, label in enumerate(given):
        reason = "comes twice: give it once" if label in given[:k] else unfit(label)
        if reason:
            raise OptionError(f"--labels: the label {excerpt(label, 40)!r} {reason}")
    with interrupts(f"interrupted; all answers are in {file}"), ExitStack() as stack:
        wanted, is_new = Wanted(model, analysis.given()), not os.path.lexists(file)
        if not is_new:
            classifier = stack.enter_context(wanted.open(file))
            if reads_tables(classifier):
                raise OptionError(f"{file} reads tables, and teach shows texts: learn a table with labels.")
        reader = documents.read(data, labelled=False)
        texts = read_all(reader, "done")["text"]
        if not isinstance(texts[0], str):
            raise DataError("documents of tokens or counts cannot be shown as texts: give texts")
        say_reading(reader)
        if is_new:
            with wanted.create(file):
                pass  # the file gets its name at once: an answer is in it when the terminal closes
            classifier = stack.enter_context(wanted.open(file))
        asked = bunrui.selection.queue(classifier, texts)
        if asked.n_blank:
            say(f"{counted(asked.n_blank, 'document')} without text: left out")
        if unlabelled:
            asked.use_unlabelled()
        names = [classifier.label_named(name) for name in given]
        names += [name for name in classifier.counts.live_labels if name not in names]
        with _keyboard() as keys:
            n_learned = _Session(asked, names, keys, wish).run()
        say(f"learned {counted(n_learned, 'answer')} into {file}; {_left(asked)}")
        say(_describe(asked, wish))
        if classifier.unlabelled_ is not None:
            say(f"texts without a label: {classifier.unlabelled_.describe()}")


def _left(asked: bunrui.selection.Queue) -> str:
    return f"{counted(len(asked), 'document')} left"


def _describe(asked: bunrui.selection.Queue, wish: float | None) -> str:
    """How good the classifier is, and how far from a wish."""
    if not asked.can_estimate:
        if asked.classifier.needs_documents:
            return "accuracy: not known, because this model is trained; 'bunrui evaluate --loo' measures it"
        return "accuracy: not known before there are answers with two labels"
    curve = asked.curve()
    if not curve.answers:
        return "accuracy: not known before a document at random has an answer"
    _, estimate = curve.points[-1]
    if estimate.n < _FEWEST:
        return f"accuracy: not known before {_FEWEST} documents at random have answers, {_FEWEST - estimate.n} more"
    low, high = estimate.interval
    line = f"accuracy {estimate.accuracy:.2f} ({low:.2f}–{high:.2f}, by {estimate.n} at random)"
    if asked.classifier.pool_weight is not None and asked.classifier.pool_weight.weight:
        line += ", without the texts that have no label"
    if asked.n_guessed:
        line += f"; agreed {asked.n_agreed} of {asked.n_guessed} times"
    if wish is None:
        return line
    forecast = curve.forecast(wish)
    if forecast is None:
        return f"{line}; how many answers {wish:g} takes, nobody can tell yet"
    if not forecast.likely:
        return f"{line}; {wish:g} is {'likely ' if forecast.high != 0 else ''}reached"
    bounds = f"at least {forecast.low:,}" if forecast.high is None else f"{forecast.low:,}–{forecast.high:,}"
    return f"{line}; {wish:g} likely takes {forecast.likely:,} more ({bounds})"


def _keys_of(labels: list[Any], before: dict[Any, str]) -> dict[Any, str]:
    """A key for each label, as far as there are keys; views/teach.js of the page does the same.

    A digit is the key of the label of that name.  Other labels keep the key that they had before.

    >>> _keys_of(["0", "1", "spam"], {})
    {'0': '0', '1': '1', 'spam': '2'}
    >>> _keys_of(["spam", "ham", "1"], {"spam": "1", "ham": "2"})
    {'spam': '3', 'ham': '2', '1': '1'}
    """
    named = _DIGITS.intersection(map(text_of, labels))
    kept = {label: key for label, key in before.items() if key not in named}
    kept |= {label: text_of(label) for label in labels if text_of(label) in named}
    free = iter([key for key in _KEYS if key not in named.union(kept.values())])
    keys = {label: kept[label] if label in kept else next(free, "") for label in labels}
    return {label: key for label, key in keys.items() if key}


class _Session:
    """Questions and keys."""

    def __init__(
        self, asked: bunrui.selection.Queue, labels: list[Any], keys: Iterator[str], wish: float | None
    ) -> None:
        self._asked, self._labels, self._keys, self._wish = asked, labels, keys, wish
        self._key_of = _keys_of(labels, {})
        self._done: list[bunrui.selection.Question] = []  # to be taken back, the last one first
        self._waiting: list[bunrui.selection.Question] = []
        self._described, self._n_described = "", 0
        self._console = Console(stderr=True, highlight=False)

    def run(self) -> int:
        """Ask until nothing is left, or the user has enough; how many answers were learned here."""
        while question := self._waiting.pop() if self._waiting else next(self._asked, None):
            self._show(question)
            answer = self._answer(self._keyless(question))
            if answer is _Action.QUIT:
                break
            if answer is _Action.UNDO:
                self._waiting.append(question)
                self._undo()
            elif answer is _Action.SKIP:
                self._asked.skip(question)
            elif self._asked.answer(question, answer):
                self._done.append(question)
            else:
                say("somebody else has answered this meanwhile")
        return len(self._done)

    def _undo(self) -> None:
        """Take the last answer back, and ask for it again, before the present question."""
        while self._done:
            last = self._done.pop()
            if self._asked.undo(last):
                self._waiting.append(last)
                return
        say("there is nothing to undo in this session: 'bunrui undo' takes back what was done before")

    def _keyless(self, question: bunrui.selection.Question) -> Any:
        """The likely label, if it has no key; else None."""
        return None if question.guess in self._key_of else question.guess

    def _answer(self, keyless: Any) -> Any:
        """A label, or several in a list, or an action; Enter alone is for the likely label that has no key."""
        chosen: list[Any] | None = None
        while True:
            key = next(self._keys, None)
            if key is None or key == _END:
                return _Action.QUIT
            if chosen is None and key in _ACTIONS:
                return _ACTIONS[key]
            if key in "\r\n":
                if chosen:
                    return chosen if len(chosen) > 1 else chosen[0]
                if chosen is None and keyless is not None:
                    return keyless
                continue
            if key == _SEVERAL:
                chosen = chosen or []
                continue
            label = self._label(key)
            if label is None:
                continue
            if chosen is None:
                return label
            chosen = [name for name in chosen if name != label] if label in chosen else [*chosen, label]
            say("  " + some(map(_shown, chosen)))

    def _label(self, key: str) -> Any:
        if key == _NEW:
            return self._new(self._line("new label: "))
        if key == _SEARCH:
            return self._search(self._line("label: "))
        label = next((label for label, own in self._key_of.items() if own == key), None)
        if label is None:
            say(f"  no label has the key {one_line(key)}: {_KEYS_BESIDE}")
        return label

    def _new(self, name: str) -> Any:
        if not name:
            return None
        try:
            if reason := unfit(name):
                raise LabelError(f"this {reason}")
            label = self._asked.classifier.label_named(name)
        except LabelError as error:
            say(f"  {error}")
            return None
        if label not in self._labels:
            self._labels.append(label)
            self._key_of = _keys_of(self._labels, self._key_of)
        return label

    def _search(self, part: str) -> Any:
        found = [name for name in self._labels if part and part.casefold() in text_of(name).casefold()]
        exact = [name for name in found if text_of(name).casefold() == part.casefold()]
        if len(exact or found) == 1:
            return (exact or found)[0]
        say("  " + (some(map(_shown, found)) if found else "none: press n for a new label"))
        return None

    def _line(self, prompt: str) -> str:
        """A line of text, key by key."""
        text = ""
        print(prompt, end="", file=sys.stderr, flush=True)
        for key in self._keys:
            if key in "\r\n":
                break
            text = text[:-1] if key in "\x7f\b" else text + key
            shown = f"\r\x1b[K{prompt}{one_line(text)}" if sys.stdin.isatty() else ""
            print(shown, end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        return text.strip()

    def _show(self, question: bunrui.selection.Question) -> None:
        shown = Text(visible(excerpt(question.text, _MOST_LINES * self._console.width)))
        title = "at random" if question.is_random else None
        done = f"{counted(len(self._asked.answers), 'answer')} · {_left(self._asked)}"
        self._console.print(Panel(shown, title=title))
        self._console.print(Text(done, "dim"))  # not in the frame, which cuts it where the terminal is narrow
        self._say_progress()
        self._console.print(self._choices(question))

    def _say_progress(self) -> None:
        """How good it is, when there are a twentieth more answers, or fewer: a long curve takes a moment."""
        n, last = len(self._asked.answers), self._n_described
        if not last <= n < last + max(1, last // 20):
            is_known = self._asked.can_estimate
            self._described, self._n_described = _describe(self._asked, self._wish) if is_known else "", n
        if self._described:
            say(self._described)

    def _choices(self, question: bunrui.selection.Question) -> Any:
        """The labels with their keys; the likely one stands out."""
        line = Text()
        keyless = self._keyless(question)
        for name, key in (self._key_of if keyless is None else self._key_of | {keyless: "Enter"}).items():
            is_guess = name == question.guess
            line.append(f" [{key}] ", "bold cyan").append(_shown(name), "bold reverse" if is_guess else "")
            line.append(f" {question.probability:.2f}" if is_guess else "", "dim")
        more = len(self._labels) - len(self._key_of)
        if more > 0:
            line.append(f"  {_SEARCH} ", "bold cyan").append(f"{more:,} more")
        return line.append(f"   {_KEYS_BESIDE}", "dim")


def _shown(label: Any) -> str:
    return one_line(text_of(label))


@contextmanager
def _keyboard() -> Iterator[Iterator[str]]:
    """Keys as they are pressed; from a pipe, its characters."""
    keys = iter(lambda: sys.stdin.read(1), "")
    if not sys.stdin.isatty():
        yield keys
        return
    try:
        import termios
        import tty
    except ImportError:
        raise OptionError("this terminal cannot be read key by key: use the page of 'bunrui serve'") from None
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield keys
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
