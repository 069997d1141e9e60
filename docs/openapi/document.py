"""The whole document."""

import tomllib
from pathlib import Path
from typing import Any

from docs.openapi.answers import error_schemas, failure, header_components
from docs.openapi.operations import paths
from docs.openapi.resources import resources
from docs.openapi.schemas import schemas_of
from edge.authentication import CSRF_HEADER, SESSION_COOKIE
from tokencount.adapters.wire import CountTokensRequest
from tokencount.domain import errors

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "openapi.json"
_DESCRIPTION = f"""\
Anthropic's token-counting API for models you host yourself, and what is around it: models, request records, API keys.

Errors below `/v1/infer/` have Anthropic's shape, with the service's own code under `b3os`; what is raised before a
request reaches the infer service (401, 403 `forbidden`, 503 `node_unavailable`), and every error elsewhere, has
OpenAI's. A path that is not listed answers as `components/responses/NotFound`, a method that its path does not list as
`components/responses/MethodNotAllowed`. Answers that API Gateway gives by itself have the same shapes; their request
ids are its own, and they carry no `Server-Timing`.

A session's requests other than GET and HEAD also need the header `{CSRF_HEADER}`, as `GET /v1/auth/session` tells it.
"""


def document() -> dict[str, Any]:
    """The document as plain JSON types."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    schemas = schemas_of(CountTokensRequest) | error_schemas() | resources()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tokencount",
            "version": project["version"],
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:8080", "description": "What `make run` starts."}],
        "paths": paths(),
        "components": {
            "securitySchemes": _credentials(),
            "headers": header_components(),
            "responses": {
                "NotFound": failure([errors.NotFound], infer=False),
                "MethodNotAllowed": failure([errors.MethodNotAllowed], infer=False),
            },
            "schemas": dict(sorted(schemas.items())),
        },
    }


def _credentials() -> dict[str, Any]:
    return {
        "apiKey": {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key (b3os_sk_…) or a token (b3os_pat_…).",
        },
        "xApiKey": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "Either of them, likewise."},
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": SESSION_COOKIE,
            "description": f"The dashboard's session, on its host alone; changes also need the header {CSRF_HEADER}.",
        },
    }
