"""`bunrui export`."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import bunrui
from bunrui.cli.console import interrupts, say, size
from bunrui.cli.options import Analysis, Classifier, LabelledDocuments, Model, argument, option
from bunrui.cli.output import check_page, open_table, write_page
from bunrui.errors import OptionError
from bunrui.phrases import counted

if TYPE_CHECKING:
    from bunrui.export import Page


def export(
    *,
    file: Classifier,
    output: str | None = argument("OUT", "A table: .parquet .arrow .csv .tsv"),
    page: str | None = option("--page", "PATH", "Write a page that classifies and explains in a browser, offline."),
    test: str | None = option(
        "--test", "DATA", "Measure on these documents what a smaller page costs; by default, on those that FILE keeps."
    ),
    documents: LabelledDocuments,
) -> None:
    """Write a page that classifies in a browser, or the counts as a table.

    The page is one HTML file to hand on: it needs no network and nothing to
    install, and sends no text to anybody. It gives the labels and the
    probabilities of 'bunrui predict'. It holds the words of the documents,
    but no texts. It has at most 20 MB: where that is not enough, it leaves
    out the words that tell labels apart least, and says what accuracy that
    costs. It reads texts by the analyzers universal and words, and answers
    as any model but aode and columns.

    The table has a row for each word and label that occur together: feature,
    label, term_count (occurrences) and doc_freq (documents). 'bunrui info
    --json' has the totals of each label. Both work whatever FILE keeps.

    [bold]Examples[/]

      bunrui export mail.bunrui --page mail.html
      bunrui export news.bunrui --page news.html --test test.csv
      bunrui export mail.bunrui counts.parquet
    """
    if (output is None) == (page is None):
        raise OptionError("give OUT for a table, or --page for a page: one of them.")
    if test is not None and page is None:
        raise OptionError("--test is for --page: give both, or none.")
    check_page(page, "--page")
    target = output or page
    with interrupts(f"interrupted; {target} was not written"), closing(bunrui.open(file, read_only=True)) as classifier:
        if page is not None:
            _write_page(page, classifier, test, documents)
        elif output is not None:
            with open_table(output) as write:
                for table in classifier.counts.tables():
                    write(table)
            say(f"wrote {counted(classifier.counts.n_cells, 'row')} into {output}")


def _write_page(path: str, classifier: bunrui.StoredClassifier, test: str | None, documents: LabelledDocuments) -> None:
    from bunrui.cli.collection import collect
    from bunrui.export import make_page

    kind = classifier.label_type
    found = None if test is None else collect([test], documents, Model(), Analysis(), label_type=kind)
    made = make_page(classifier, Path(classifier.path).stem, test=found and (found.texts, found.labels))
    write_page(path, made.html)
    _say_size(path, made, is_tested=test is not None)


def _say_size(path: str, made: Page, *, is_tested: bool) -> None:
    """Say what the page has, and what it lacks."""
    cut, has = made.pruning, f"it has {size(os.path.getsize(path))}"
    if cut is None:
        say(f"{has} and all {counted(made.n_features, 'word')}: it answers as the classifier does")
        return
    say(f"{has} and {cut.kept:,} of {counted(cut.all, 'word')}, those that tell labels apart best")
    if cut.before is None or cut.after is None:
        say("what that costs was not measured, as the file keeps no texts: give documents with --test")
        return
    on = f"{counted(cut.documents, 'document')}{'' if is_tested else ', predicted by the other four fifths'}"
    say(f"accuracy {cut.before:.1%} with all words, {cut.after:.1%} with these, on {on}")
