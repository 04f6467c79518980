"""The service keeps to its own description, whatever Schemathesis makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
import schemathesis.specs.openapi.schemas  # before any thread runs: Python 3.11 may fail to parse modules beside others
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

import bunrui
from tests.service.conftest import TOKEN, Server, shared_server
from tests.support.examples import examples


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service that may learn anything; its file must be right after all that."""
    for server in shared_server(tmp_path_factory.mktemp("contract")):
        yield server
        with bunrui.open(server.path, read_only=True) as clf:
            assert clf.check().is_right
        assert server.client.get("/readyz").status_code == 200
        assert '"error"' not in server.log.read_text()


@pytest.fixture(scope="module")
def api(own: Server) -> Any:
    return schemathesis.openapi.from_url(f"{own.url}/openapi.json")


def no_failure(context: Any, response: Any, case: Any) -> None:
    """A failure is what nobody expected: not that something is not there yet, nor that there is too much to do."""
    is_busy = response.status_code == 503 and "retry-after" in response.headers
    assert response.status_code < 500 or response.status_code == 501 or is_busy, response.text


CHECKS: list[Any] = [
    no_failure,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


schemathesis.serializer.alias("message/rfc822", "application/octet-stream")

MODES = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
ROUTES = [
    *(("POST", f"/v1/{verb}") for verb in ("predict", "explain", "learn", "unlearn", "relabel", "undo", "evaluate")),
    *(("POST", f"/v1/{verb}") for verb in ("inspect", "train", "test", "mistakes", "curve", "compare", "audit")),
    *(("POST", f"/v1/{verb}") for verb in ("set", "choose", "calibrate", "deliver")),
    *(
        ("GET", f"/v1/{noun}")
        for noun in ("labels", "words", "info", "log", "documents", "token", "evaluate/{id}", "jobs/{id}")
    ),
    *(("POST", f"/v1/teach{verb}") for verb in ("", "/next", "/answer", "/undo", "/unlabelled")),
    *(("GET", f"/v1/teach{noun}") for noun in ("", "/progress")),
    ("DELETE", "/v1/teach"),
    *(("POST", f"/v1/unlabelled/{verb}") for verb in ("learn", "unlearn")),
    *(("POST", f"/v1/{place}") for place in ("files", "predictions", "predictions/{id}")),
    *(("GET", f"/v1/{place}/{{id}}") for place in ("files", "predictions", "downloads")),
    ("DELETE", "/v1/files/{id}"),
    ("DELETE", "/v1/evaluate/{id}"),
    ("DELETE", "/v1/jobs/{id}"),
]


def test_no_route_is_left_out(own: Server) -> None:
    paths = own.client.get("/openapi.json").json()["paths"]
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert {route for route in described if route[1].startswith("/v1/")} == set(ROUTES)


@pytest.mark.parametrize("mode", MODES, ids=["right", "wrong"])
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_route(api: Any, method: str, path: str, mode: schemathesis.GenerationMode) -> None:
    operation = api[path][method]
    if mode is schemathesis.GenerationMode.NEGATIVE and not (operation.body or operation.query):
        pytest.skip("there is nothing to get wrong")

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=examples(15),
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: Any) -> None:
        case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"}, checks=CHECKS)

    ask()
