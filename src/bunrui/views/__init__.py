"""Results as people see them: tables, diagrams and marked text, for the terminal, HTML and the page of the service.

A kind of result has one file, with all its looks, so that a change of one is a change everywhere:

    tables.py       a table, figures at a glance
    confusion.py    the confusion matrix
    charts.py       axes with lines and points; bars, intervals
    explanation.py  a text with marked words; the values of words
    evaluation.py   metrics, calibration, learning curve, rankings
    comparison.py   models side by side, settings that were tried

    markup.py       elements of HTML and SVG; phrases that can be translated
    page.py         a whole page in one file; a piece of a notebook
    web/            the style sheet and the script of reports, notebooks and the page

Results are given: nothing here computes them, and no result is imported at run time.  So `evaluation` and `selection`
can show themselves in a notebook.  `bunrui.report` puts the pieces together to whole reports.
"""

from __future__ import annotations
