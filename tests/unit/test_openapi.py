"""The OpenAPI document: current, valid, of the edge's own routes, and equal to the reference where that speaks.

The reference's facts about the count route are kept here in short; nothing is made of the code they are held against.
"""

import json
from typing import Any

import pytest
from openapi_spec_validator import validate as validate_document

from docs.openapi.document import FILE, document
from docs.openapi.schemas import REF
from edge.paging import PAGE_PARAMETERS
from edge.record_query import PARAMETERS
from local.stack import ROOT
from local.template import Template
from tests.support.edge import EdgeUnderTest
from tokencount.adapters.answers import STATUS, error_body
from tokencount.domain.errors import MethodNotAllowed

Schema = dict[str, Any]
DOCUMENT = document()
COUNT = DOCUMENT["paths"]["/v1/infer/v1/messages/count_tokens"]["post"]

# --- the reference ----------------------------------------------------------------------------------------------------

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": ["boolean", "null"]}
OBJECT: Schema = {"type": "object"}
OPTIONAL_TEXT: Schema = {"type": ["string", "null"]}


def one(*values: str | None) -> Schema:
    return {"type": ["string", "null"] if None in values else "string", "enum": list(values)}


def array(items: Schema, *, nullable: bool = False) -> Schema:
    return {"type": ["array", "null"] if nullable else "array", "items": items}


def either(*options: Schema) -> Schema:
    return {"oneOf": list(options)}


def fields(**properties: Schema) -> Schema:
    """An object; a name that ends in an underscore is of a field that may be missing."""
    required = [name for name in properties if not name.endswith("_")]
    known = {name.removesuffix("_"): schema for name, schema in properties.items()}
    return {"type": "object", "properties": known} | ({"required": sorted(required)} if required else {})


CACHE = fields(type_=TEXT, ttl_=TEXT) | {"type": ["object", "null"]}
TEXT_BLOCK = fields(type=one("text"), text=TEXT, cache_control_=CACHE, citations_=array(OBJECT, nullable=True))
MEDIA_TYPE = one("image/png", "image/jpeg", "image/webp", "image/gif")
BASE64 = fields(type=one("base64"), media_type=MEDIA_TYPE, data=TEXT | {"format": "byte"})
URL = fields(type=one("url"), url=TEXT | {"pattern": "^https://"})
IMAGE = fields(type=one("image"), source=either(BASE64, URL), cache_control_=CACHE)
RESULT = fields(
    type=one("tool_result"),
    tool_use_id=TEXT,
    content_=either(OPTIONAL_TEXT, array(either(TEXT_BLOCK, IMAGE))),
    is_error_=FLAG,
    cache_control_=CACHE,
)
USE = fields(type=one("tool_use"), id=TEXT | {"minLength": 1}, name=TEXT, input=OBJECT, cache_control_=CACHE)
THOUGHT = fields(type=one("thinking"), thinking=TEXT, signature_=OPTIONAL_TEXT)
REDACTED = fields(type=one("redacted_thinking"), data=TEXT)
MESSAGE = either(
    fields(role=one("user"), content=either(TEXT, array(either(TEXT_BLOCK, IMAGE, RESULT)))),
    fields(role=one("assistant"), content=either(TEXT, array(either(TEXT_BLOCK, USE, THOUGHT, REDACTED)))),
)
TOOL = fields(
    type_=one("custom", None),
    name=TEXT | {"pattern": "^[A-Za-z0-9_-]{1,128}$"},
    description_=OPTIONAL_TEXT,
    input_schema=OBJECT,
    strict_=FLAG,
    cache_control_=CACHE,
)
CHOICE = either(
    fields(type=one("auto", "any"), disable_parallel_tool_use_=FLAG),
    fields(type=one("tool"), name=TEXT, disable_parallel_tool_use_=FLAG),
    fields(type=one("none")),
)
DISPLAY = one("summarized", "omitted", "updates", None)
THINKING = either(
    fields(type=one("enabled"), budget_tokens={"type": "integer", "minimum": 1024}, display_=DISPLAY),
    fields(type=one("adaptive"), display_=DISPLAY),
    fields(type=one("disabled")),
)
REQUEST = fields(
    model=TEXT | {"minLength": 1, "maxLength": 256},
    messages=array(MESSAGE),
    system_=either(OPTIONAL_TEXT, array(TEXT_BLOCK)),
    tools_=array(TOOL, nullable=True),
    tool_choice_={"type": ["object", "null"]} | CHOICE,
    thinking_={"type": ["object", "null"]} | THINKING,
)
ERROR_TYPES = (
    "invalid_request_error", "authentication_error", "billing_error", "permission_error", "not_found_error",
    "request_too_large", "rate_limit_error", "api_error", "timeout_error", "overloaded_error",
)  # fmt: skip
ANTHROPIC = fields(
    type=one("error"),
    error=fields(type=one(*ERROR_TYPES), message=TEXT),
    request_id_=TEXT,
    b3os_=fields(code=TEXT, param_=TEXT),
)
OPENAI = fields(error=fields(message=TEXT, type=TEXT, param=OPTIONAL_TEXT, code=OPTIONAL_TEXT))
ALWAYS = {"x-request-id", "Server-Timing", "request-id"}
LIMITS = {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
HEADERS = dict.fromkeys([200, 400, 401, 403, 404, 413, 415, 429, 500, 503], ALWAYS) | {
    429: ALWAYS | LIMITS | {"Retry-After"},
    503: ALWAYS | {"Retry-After"},
}

# --- the document in the same form ------------------------------------------------------------------------------------


def facts(schema: Schema) -> Schema:
    """The schema with references resolved, and without what the reference does not say."""
    if "$ref" in schema:
        return facts(DOCUMENT["components"]["schemas"][schema["$ref"].removeprefix(REF)])
    known = {
        key: value for key, value in schema.items() if key not in {"description", "additionalProperties", "minItems"}
    }
    if properties := known.pop("properties", None):
        known["properties"] = {name: facts(value) for name, value in properties.items()}
    if "required" in known:
        known["required"] = sorted(known["required"])
    if "items" in known:
        known["items"] = facts(known["items"])
    if "oneOf" in known:
        # That null is accepted is said by the type already.
        known["oneOf"] = [facts(option) for option in known["oneOf"] if option != {"type": "null"}]
    return known


def test_the_committed_document_is_what_the_generator_writes() -> None:
    assert json.loads(FILE.read_text("utf-8")) == DOCUMENT, "run `make openapi`"


def test_the_document_is_valid_openapi_3_1() -> None:
    validate_document(DOCUMENT)
    assert DOCUMENT["openapi"].startswith("3.1.")


def test_its_paths_are_those_of_the_template_that_the_edge_does_not_answer_with_404() -> None:
    edge = EdgeUnderTest()
    routes = {route.path.replace("+}", "}") for route in Template(ROOT / "template.yaml").routes}
    answers = {path: edge.send("PROPFIND", path.replace("{", "").replace("}", "")) for path in routes}
    assert set(DOCUMENT["paths"]) == {path for path, answer in answers.items() if answer["statusCode"] != 404}


@pytest.mark.parametrize("path", DOCUMENT["paths"])
def test_its_methods_of_a_path_are_those_that_the_edge_allows(path: str) -> None:
    answer = EdgeUnderTest().send("PROPFIND", path.replace("{", "").replace("}", ""))
    assert answer["statusCode"] == 405
    assert set(answer["headers"]["Allow"].split(", ")) == {method.upper() for method in DOCUMENT["paths"][path]}


@pytest.mark.parametrize(("path", "names"), [("/v1/requests", PARAMETERS), ("/v1/keys", PAGE_PARAMETERS)])
def test_a_list_takes_the_query_parameters_that_the_edge_reads(path: str, names: tuple[str, ...]) -> None:
    parameters = DOCUMENT["paths"][path]["get"]["parameters"]
    assert [(parameter["in"], parameter["name"]) for parameter in parameters] == [("query", name) for name in names]


def test_the_request_of_the_count_route_is_that_of_the_reference() -> None:
    assert facts(COUNT["requestBody"]["content"]["application/json"]["schema"]) == REQUEST
    assert COUNT["requestBody"]["required"]


def test_every_object_of_the_request_is_closed_but_what_a_client_may_fill_freely() -> None:
    def opened(schema: Schema, path: str) -> set[str]:
        if "$ref" in schema:
            schema = DOCUMENT["components"]["schemas"][schema["$ref"].removeprefix(REF)]
        below = [opened(option, path) for option in schema.get("oneOf", ())]
        below += [opened(value, name) for name, value in schema.get("properties", {}).items()]
        below += [opened(schema["items"], path)] if "items" in schema else []
        is_open = "object" in schema.get("type", "") and schema.get("additionalProperties") is not False
        return set().union(*below) | ({path} if is_open and "oneOf" not in schema else set())

    body = COUNT["requestBody"]["content"]["application/json"]["schema"]
    assert opened(body, "") == {"cache_control", "citations", "input", "input_schema"}


def test_the_answers_of_the_count_route_have_the_statuses_headers_and_shapes_of_the_reference() -> None:
    assert {int(status) for status in COUNT["responses"]} == set(HEADERS)
    for status, response in COUNT["responses"].items():
        # Limits are told on every answer after the limiter ran, which the reference leaves open.
        assert HEADERS[int(status)] <= set(response["headers"]) <= HEADERS[int(status)] | LIMITS
        assert list(response["content"]) == ["application/json"]
        schema = response["content"]["application/json"]["schema"]
        expected = [fields(input_tokens={"type": "integer"})] if status == "200" else [ANTHROPIC, OPENAI]
        found = [facts(option) for option in schema.get("oneOf", [schema])]
        for option in found:
            option.get("properties", {}).get("input_tokens", {}).pop("minimum", None)
        assert found == expected


def test_the_headers_have_the_patterns_of_the_reference_and_a_wait_of_at_least_a_second() -> None:
    headers = {name: header["schema"] for name, header in DOCUMENT["components"]["headers"].items()}
    assert headers["x-request-id"]["pattern"] == "^req_[0-9a-hjkmnp-tv-z]{26}$"
    assert headers["Retry-After"] == {"type": "integer", "minimum": 1}
    assert {headers[name]["type"] for name in LIMITS} == {"integer"}


def test_a_count_is_asked_for_with_one_of_the_credentials_of_the_reference() -> None:
    schemes = DOCUMENT["components"]["securitySchemes"]
    assert COUNT["security"] == [{"apiKey": []}, {"xApiKey": []}, {"session": []}]
    assert (schemes["apiKey"]["type"], schemes["apiKey"]["scheme"]) == ("http", "bearer")
    assert (schemes["session"]["in"], schemes["session"]["name"]) == ("cookie", "__Host-b3os_session")


@pytest.mark.parametrize("kind", STATUS)
def test_every_error_of_the_status_table_is_told_with_its_status_code_and_shape(kind: Any) -> None:
    error = kind("m", ["GET"]) if kind is MethodNotAllowed else kind("m")
    known = STATUS[kind]
    general = DOCUMENT["components"]["responses"]
    responses = {**COUNT["responses"], "405": general["MethodNotAllowed"]}
    response = general["NotFound"] if known.code == "not_found" else responses[str(known.status)]
    assert f"`{known.code}`" in response["description"]
    body = error_body(error, "req_1", infer=True)
    place = "b3os" if "b3os" in body else "error"
    told = [option["properties"] for option in response["content"]["application/json"]["schema"]["anyOf"]]
    codes = [
        option[place]["properties"]["code"]["enum"]
        for option in told
        if "code" in option.get(place, {}).get("properties", {})
    ]
    assert [known.code in listed for listed in codes] == [True]
