"""The routes of the contract: what each takes, and in what it can end."""

from collections.abc import Sequence
from typing import Any

from docs.openapi.answers import Kind, Success, answers
from docs.openapi.resources import COUNT, KEY_ID, MOMENT, REQUEST_ID, TEXT
from docs.openapi.schemas import Schema, closed, ref
from edge.paging import MAX_LIMIT
from tokencount.adapters.answers import STATUS
from tokencount.adapters.node_protocol import COUNT_PATH
from tokencount.domain import errors
from tokencount.domain.checks import MAX_MODEL_ID

Operation = dict[str, Any]
_ANY_CREDENTIAL = ("apiKey", "xApiKey", "session")
# Whatever the route: who asks is not known, cannot be looked up, or we fail.
_ALWAYS: list[Kind] = [errors.Unauthorized, errors.Internal, errors.NodeUnavailable]
_SCOPED = [*_ALWAYS, errors.Forbidden]
_QUERY = [errors.InvalidRequest, errors.UnsupportedParameter]
# The count route ends in all that is in the table, but for what is said of paths.
_COUNT = [kind for kind in STATUS if kind not in {errors.NotFound, errors.MethodNotAllowed}]
# What the published reference shows.
_EXAMPLE = {
    "model": "b3os/qwen3.5-9b",
    "system": "You are a concise assistant.",
    "messages": [{"role": "user", "content": "How many tokens is this?"}],
}


def paths() -> dict[str, dict[str, Operation]]:
    """Operations by path and method."""
    return {
        COUNT_PATH: {"post": _count()},
        "/v1/infer/models": {"get": _list_models()},
        "/v1/infer/models/{id}": {"get": _show_model()},
        "/v1/requests": {"get": _list_requests()},
        "/v1/requests/{request_id}": {"get": _show_request()},
        "/v1/keys": {"get": _list_keys(), "post": _create_key()},
        "/v1/keys/{id}": {"delete": _revoke_key()},
        "/v1/auth/session": {"get": _show_session()},
    }


def _count() -> Operation:
    count = Success(closed({"input_tokens": COUNT}), "The count.", example={"input_tokens": 27})
    responses = answers(count, _COUNT, infer=True, limited=True)
    body = _body("CountTokensRequest", example=_EXAMPLE)
    return _operation("countTokens", "Count the tokens of a message request", responses, requestBody=body)


def _list_models() -> Operation:
    responses = answers(Success(ref("ModelList"), "Every served model."), _SCOPED, infer=True)
    return _operation("listModels", "List the served models", responses)


def _show_model() -> Operation:
    responses = answers(Success(ref("Model"), "The model."), [*_SCOPED, errors.ModelNotAvailable], infer=True)
    identity = _path("id", TEXT, "A model's id; the slash in it may be sent raw or as %2F.")
    return _operation("showModel", "Show one served model", responses, parameters=[identity])


def _list_requests() -> Operation:
    parameters = [
        _query("model", {"type": "string", "minLength": 1, "maxLength": MAX_MODEL_ID}, "Only requests for this model."),
        _query(
            "status", {"type": "string", "pattern": "^[1-5]([xX]{2}|[0-9]{2})$"}, "Only this status, or class: 4xx."
        ),
        _query("since", MOMENT, "Only requests since this time of ISO 8601, UTC where no zone stands."),
        *_page(),
    ]
    records = Success(ref("RequestRecordList"), "Records of the credential's project, the newest first.")
    responses = answers(records, [*_ALWAYS, *_QUERY])
    return _operation("listRequests", "List request records", responses, parameters=parameters)


def _show_request() -> Operation:
    responses = answers(Success(ref("RequestRecord"), "The record."), [*_ALWAYS, errors.NotFound])
    identity = _path("request_id", REQUEST_ID, "The `request-id` of an answer.")
    return _operation("showRequest", "Show one request record", responses, parameters=[identity])


def _list_keys() -> Operation:
    keys = Success(ref("KeyList"), "The API keys of the credential's project, the newest first, without their secrets.")
    return _operation("listKeys", "List API keys", answers(keys, [*_SCOPED, *_QUERY]), parameters=_page())


def _create_key() -> Operation:
    key = Success(ref("CreatedKey"), "The new key, with its secret.", status=201, stored=False)
    responses = answers(key, [*_SCOPED, errors.InvalidRequest, errors.UnsupportedMediaType])
    return _operation("createKey", "Create an API key", responses, requestBody=_body("NewKey"))


def _revoke_key() -> Operation:
    key = Success(ref("Key"), "The revoked key; a second time changes nothing.")
    responses = answers(key, [*_SCOPED, errors.NotFound])
    return _operation("revokeKey", "Revoke an API key", responses, parameters=[_path("id", KEY_ID, "A key's id.")])


def _show_session() -> Operation:
    session = Success(ref("Session"), "Whose session it is, and the token that its changes need.", stored=False)
    return _operation("showSession", "Show the session", answers(session, _ALWAYS), credentials=["session"])


def _operation(
    name: str, summary: str, responses: Schema, *, credentials: Sequence[str] = _ANY_CREDENTIAL, **rest: Any
) -> Operation:
    security: list[Schema] = [{credential: []} for credential in credentials]
    return {"operationId": name, "summary": summary, "security": security, **rest, "responses": responses}


def _body(schema: str, **rest: Any) -> Schema:
    return {"required": True, "content": {"application/json": {"schema": ref(schema), **rest}}}


def _page() -> list[Schema]:
    size = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": 20}
    cursor = {"type": "string", "pattern": "^[A-Za-z0-9_-]{32}$"}
    return [_query("limit", size, "Items a page."), _query("cursor", cursor, "The `next_cursor` of the page before.")]


def _path(name: str, schema: Schema, description: str) -> Schema:
    return {"name": name, "in": "path", "required": True, "description": description, "schema": schema}


def _query(name: str, schema: Schema, description: str) -> Schema:
    return {"name": name, "in": "query", "description": description, "schema": schema}
