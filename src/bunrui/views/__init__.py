"""Shows results: tables, diagrams and marked text, for the terminal, HTML and the page of the service.

Each kind of result has one file with all its looks, so that a change of its looks is made once (docs/decisions/024).

Nothing here computes a result, and no result is imported at run time.  So `evaluation` and `selection` can show
themselves in a notebook.  `bunrui.report` puts the pieces together into whole reports.
"""

from __future__ import annotations
