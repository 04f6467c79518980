"""The tests on every Python that bunrui supports.

pip install nox && nox              3.11, 3.12 and 3.13, where they are on the PATH (pyenv shell 3.11 3.12 3.13)
nox --session tests-3.13 -- -k loo  one of them, and some tests
"""

from __future__ import annotations

import nox

nox.options.error_on_missing_interpreters = False


@nox.session(python=["3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """As `make test` does."""
    session.install("-e", ".[ja,zh,ko,serve,ray,dev]")
    session.run("python", "-m", "pytest", "-m", "not slow", *session.posargs)
