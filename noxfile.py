"""The tests on every Python that bunrui supports, and the guide.

pip install nox && nox              3.11, 3.12 and 3.13, which have to be on the PATH (pyenv shell 3.11 3.12 3.13)
nox --session tests-3.13 -- -k loo  one of them, and some tests
nox --session docs                  the guide alone
"""

from __future__ import annotations

import nox

nox.options.error_on_missing_interpreters = True


@nox.session(python=["3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """As `make test` does."""
    session.install("-e", ".[sklearn,ja,zh,ko,serve,ray,pipelines,dev]")
    session.run("python", "-m", "pytest", "-m", "not slow", *session.posargs)


@nox.session(venv_backend="none")
def docs(session: nox.Session) -> None:
    """The guide, which makes its own environment."""
    session.run("make", "docs", external=True)
