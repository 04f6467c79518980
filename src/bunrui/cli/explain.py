"""`bunrui explain`, `bunrui words`."""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any

import bunrui
from bunrui.cli.console import interrupts, say, show, to_json
from bunrui.cli.options import Model, check_text
from bunrui.cli.output import check_name, write_page
from bunrui.cli.parameters import Classifier, argument, flag, option
from bunrui.errors import DataError, EncodingError, OptionError
from bunrui.labels import text_of
from bunrui.phrases import one_line
from bunrui.views.tables import Column, Table, numbers

if TYPE_CHECKING:
    from bunrui.classifier import AnyClassifier
    from bunrui.models.explain import Word

_FEW_WORDS = 8
_MANY_WORDS = 20
_MOST_LABELS = 50  # in the list of all labels: each one reads all counts
_FEW_LABELS = 6  # columns of counts in a table


def explain(
    file: Classifier,
    model: Model,
    text: str | None = argument("TEXT", "The text, or a row of a table in JSON; the standard input if there is none."),
    label: str | None = option("LABEL", "Explain this label, not the predicted one."),
    against: str | None = option("LABEL", "Compare it with this label, not with the next best."),
    json: bool = flag("Everything, as JSON."),
    html: str | None = option("PATH", "Write a page in colours in place of stdout."),
) -> None:
    """Explain a prediction: what each word, or column of a table, adds to the score of a label.

    Blue speaks for the label, orange (underlined) against it. The values add
    up exactly to the difference of the two scores.

    [bold]Examples[/]

      bunrui explain mail.bunrui "free pills, see you at noon"
      bunrui explain mail.bunrui --label ham --against spam < letter.txt
      bunrui explain mail.bunrui "free pills" --html why.html
      bunrui explain t.bunrui '{"age": 39, "job": "clerk"}'
    """

    if json and html is not None:
        raise OptionError("--json writes to stdout, --html to a file: give one of them.")
    check_name(html)
    if text is None:
        text = _standard_input()
    elif os.path.isfile(text):
        command = f"bunrui explain {shlex.quote(file)} < {shlex.quote(text)}"
        say(f"{text!r} is explained as a text. What the file of that name holds is explained by: {command}")
    check_text(text, "TEXT", "convert it with iconv first")
    with interrupts("interrupted"), bunrui.open(file, read_only=True) as opened:
        named = opened.label_named
        explanation = model.of(opened).explain(text, label=named(label), against=named(against))
    if html is not None:
        write_page(html, bunrui.report.explanation_page(explanation))
    elif json:
        print(to_json(explanation.to_dict()))
    else:
        show(explanation)


_HEADER = re.compile(rb"[A-Za-z][\w-]*:[ \t]")


def _standard_input() -> str:
    if sys.stdin.isatty():
        raise OptionError("there is nothing to explain: give TEXT, or text on the standard input.")
    data = sys.stdin.buffer.read()
    if not data:
        raise OptionError("the standard input is empty: give TEXT, or text on the standard input.")
    if _HEADER.match(data):  # what may be a mail is read as `predict` reads it; to import that takes time
        from bunrui.documents.mail import is_mail, parse_mail

        if is_mail(data):
            return parse_mail(data).text
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise EncodingError(f"<stdin> is not valid UTF-8 (byte {error.start}): convert it with iconv first") from error


def words(
    *,
    file: Classifier,
    label: str | None = argument("LABEL", "The label; all if there is none."),
    positive: str | None = option("LABEL", "Log-odds of words: for this label,"),
    negative: str | None = option("LABEL", "… against this one.", needs="positive"),
    word: str | None = option("WORD", "Only this word."),
    top: int | None = option("N", "How many words (20; 8 of each label).", min=1),
    json: bool = flag("As JSON: a list of words with weights and counts."),
    model: Model,
) -> None:
    """Show the words that speak for a label.

    The weight of a word is what one occurrence adds to the score of the
    label, minus the mean of what it adds to the others. With --positive and
    --negative it is λ(w) = log P(w | positive) / P(w | negative), and the
    list has both ends. Without a label, a few words of each.

    [bold]Examples[/]

      bunrui words mail.bunrui
      bunrui words mail.bunrui spam --top 50
      bunrui words mail.bunrui --positive spam --negative ham
      bunrui words mail.bunrui spam --word free
    """

    if label is not None and (positive is not None or negative is not None):
        raise OptionError("give LABEL, or --positive and --negative, not both.")
    if word is not None:
        check_text(word, "--word", "convert it with iconv first")
    with interrupts("interrupted"), bunrui.open(file, read_only=True) as opened:
        classifier = model.of(opened)
        if label is None and positive is None and word is None:
            _all_labels(classifier, top or _FEW_WORDS, json)
            return
        asked = [classifier.label_named(name) for name in (label, positive, negative)]
        found = classifier.words(asked[0], positive=asked[1], negative=asked[2], word=word, top=top or _MANY_WORDS)
        if word is not None and not found:
            raise DataError(f"the word {word!r} was never learned: 'bunrui words {file}' shows some that were")
        if json:
            print(to_json([_as_dict(item) for item in found]))
        else:
            show(_table(classifier, found))


def _all_labels(classifier: AnyClassifier, top: int, json: bool) -> None:
    """A few words of each label."""
    classes: list[Any] = classifier.classes_.tolist()
    if json:
        found = {text_of(name): [_as_dict(word) for word in classifier.words(name, top=top)] for name in classes}
        print(to_json(found))
        return
    from bunrui.views.explanation import spell

    counts = classifier.counts
    largest = sorted(classes, key=lambda name: (-counts.doc_count[counts.label_ids[name]], name))[:_MOST_LABELS]
    rows = [
        [one_line(text_of(name)), "  ".join(spell(word.text) for word in classifier.words(name, top=top))]
        for name in sorted(largest)
    ]
    columns = [Column(name, is_number=False, overflow="fold") for name in ("label", "words")]
    show(Table(columns, rows))
    if len(classes) > len(largest):
        say(f"{len(classes) - len(largest):,} labels with fewer documents are left out: name one to see its words")


def _as_dict(word: Word) -> dict[str, Any]:
    return {"word": word.text, "weight": word.weight, "counts": word.counts}


def _table(classifier: AnyClassifier, found: list[Word]) -> Table:
    from bunrui.views.explanation import signed, spell

    classes: list[Any] = classifier.classes_.tolist()
    by_label = len(classes) <= _FEW_LABELS
    names = [one_line(text_of(name)) for name in classes] if by_label else ["in all"]
    rows, write = [], signed((word.weight for word in found), 4)
    for word in found:
        counts = [word.counts.get(name, 0) for name in classes] if by_label else [sum(word.counts.values())]
        rows.append([spell(word.text), write(word.weight), *(f"{count:,}" for count in counts)])
    return Table([Column("word", is_number=False, overflow="fold"), *numbers("weight", *names)], rows)
