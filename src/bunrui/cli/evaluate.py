"""`bunrui evaluate`."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from bunrui.cli.batches import labels_in, texts_of
from bunrui.cli.console import Bar, interrupts, plain, say, say_skipped, show, to_json
from bunrui.cli.options import Classifier, LabelledDocuments, Model

__all__ = ["evaluate"]


def evaluate(
    file: Classifier,
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="Documents with labels that were not learned.")],
    documents: LabelledDocuments,
    model: Model,
    json: Annotated[bool, typer.Option("--json", help="All metrics, as JSON.")] = False,
) -> None:
    """Measure how well a classifier predicts documents whose labels are known.

    Accuracy, precision, recall and F1 of each label and on the average, and
    which labels are taken for which. FILE is not changed. Labels that FILE
    has never learned are counted as mistakes.

    [bold]Examples[/]

      bunrui evaluate mail.bunrui test.csv
      bunrui evaluate mail.bunrui test.csv --model multinomial --alpha 1
      bunrui evaluate mail.bunrui test.parquet --json | jq .macro.f1
    """
    from bunrui import stored
    from bunrui.engines.stream import ahead
    from bunrui.errors import DataError
    from bunrui.evaluation import Tally

    with interrupts("interrupted"), closing(stored.open(file, read_only=True)) as opened:
        reader = documents.read(data, labelled=True)
        classifier = model.of(opened)
        known = classifier.classes_.tolist()
        tally, labels = Tally(known), set()
        with Bar(reader) as bar, closing(ahead(reader)) as batches:  # type: ignore[type-var]
            for batch in batches:
                tally.add(batch["label"], classifier.predict(texts_of(batch)))
                labels |= labels_in(batch)
                bar.add(batch.num_rows)
    say_skipped(reader)
    if not bar.n_docs:
        raise DataError("there are no documents to be read: nothing was evaluated")
    unknown = sorted(labels - set(known))
    if unknown:
        some = ", ".join(plain(name) for name in unknown[:10]) + (" …" if len(unknown) > 10 else "")
        say(f"warning: never learned, so always mistaken: {some}")
    metrics = tally.metrics()
    if json:
        print(to_json(metrics.to_dict()))
        return
    from bunrui.report import metrics_tables

    show(metrics_tables(metrics))
