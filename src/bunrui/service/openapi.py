"""The description of the service, /openapi.json."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from bunrui.service import problems
from bunrui.service.schemas import ProblemDetails
from bunrui.service.security import ARROW, JSON

__all__ = ["describe", "described"]

_REF = "#/components/schemas/{model}"
_EVERYWHERE = (400, 403, 421, 503)
_WITH_BODY = (408, 413, 415, 422)

_ABOUT = """One classifier file over HTTP.

Reading is open to who may reach the service; writing needs its token. What learning answers is in the file. A full
service answers 503 with Retry-After. All errors are problem details (RFC 9457).

Batches come as JSON, or as Arrow IPC streams with the columns text, label and id; then options stand in the address.
"""


def described(
    summary: str,
    answer: type[BaseModel] | None,
    example: Any,
    *,
    body: type[BaseModel] | None = None,
    body_example: Any = None,
    may_lack_body: bool = False,
    arrow: bool = False,
    arrow_answer: bool = False,
    options: tuple[str, ...] = (),
    statuses: tuple[int, ...] = (),
    token: bool = False,
    status: int = 200,
) -> dict[str, Any]:
    """What the decorators of FastAPI take to describe a route; nothing of it is done when the route is called."""
    every = {*_EVERYWHERE, *statuses, *(_WITH_BODY if body else ()), *((401,) if token else ())}
    content: dict[str, Any] = {JSON: {"example": example}} if answer else {}
    if arrow_answer:
        content[ARROW] = {"schema": {"type": "string", "format": "binary"}}
    responses: dict[int | str, dict[str, Any]] = {status: {"content": content}, **{n: _problem(n) for n in every}}
    extra: dict[str, Any] = {}
    if body is not None:
        types: dict[str, Any] = {JSON: {"schema": _schema(body), "example": body_example}}
        if arrow:
            types[ARROW] = {"schema": {"type": "string", "format": "binary"}}
        extra["requestBody"] = {"required": not may_lack_body, "content": types}
    if options and body is not None:
        known = _schema(body)["properties"]
        extra["parameters"] = [
            {
                "name": name,
                "in": "query",
                "required": False,
                "description": "Where the body is an Arrow stream: as in the JSON body.",
                "schema": {"type": "integer", "minimum": 1} if name == "top" else {"type": "string"},
            }
            for name in options
            if name in known
        ]
    if token:
        extra["security"] = [{"token": []}]
    return {
        "summary": summary,
        "response_model": answer,
        "response_description": "Done",
        "responses": responses,
        "openapi_extra": extra,
        "status_code": status,
    }


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template=_REF)
    schema.pop("$defs", None)
    return schema


def _problem(status: int) -> dict[str, Any]:
    titles = [title for code, title in problems.KINDS.values() if code == status]
    schema = {"$ref": _REF.format(model=ProblemDetails.__name__)}
    return {"description": "; ".join(titles), "content": {problems.MEDIA_TYPE: {"schema": schema}}}


def describe(app: FastAPI) -> dict[str, Any]:
    """The whole description."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=app.routes)
        components = schema.setdefault("components", {})
        components.setdefault("schemas", {})[ProblemDetails.__name__] = _schema(ProblemDetails)
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = schema
    return app.openapi_schema
