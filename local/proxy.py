"""REST (v1) proxy events, as API Gateway makes them of an HTTP request, and the answers it takes back.

Observed of it and kept here: the path stays percent-encoded, in `path` and in `pathParameters`; of repeated headers and
parameters the last stands in the single-valued maps; the length and hop-by-hop headers are not passed on.
"""

import json
import re
import uuid
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from local.template import PSEUDO, Route

NOT_PASSED_ON = {
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
REMAPPED = {"connection", "content-length", "date", "server"}  # an answer's own come out as x-amzn-remapped-…
HEADER = re.compile(r"[\w!#$%&'*+.^`|~-]+: [\t\x20-\x7e\x80-\xff]*", re.ASCII)

Pairs = list[tuple[str, str]]


def proxy_event(request: Request, body: bytes, route: Route, parameters: dict[str, str], stage: str) -> dict[str, Any]:
    """The event for a request that this route matched."""
    path = raw_path(request)
    headers = [(name, value) for name, value in request.headers.items() if name not in NOT_PASSED_ON]
    headers += [
        ("X-Forwarded-For", _source(request)),
        ("X-Forwarded-Port", str(request.url.port)),
        ("X-Forwarded-Proto", "http"),
    ]
    query = parse_qsl(request.url.query, keep_blank_values=True)
    return {
        "resource": route.path,
        "path": path,
        "httpMethod": request.method,
        "headers": dict(headers),
        "multiValueHeaders": _grouped(headers),
        "queryStringParameters": dict(query) or None,
        "multiValueQueryStringParameters": _grouped(query) or None,
        "pathParameters": parameters or None,
        "stageVariables": None,
        "requestContext": _context(request, route, path, stage),
        "body": body.decode(errors="replace") or None,
        "isBase64Encoded": False,
    }


def raw_path(request: Request) -> str:
    """The path as it was sent, percent-encoded."""
    path: bytes = request.scope["raw_path"]
    return path.decode("latin-1")


def _context(request: Request, route: Route, path: str, stage: str) -> dict[str, Any]:
    now = datetime.now(UTC)
    host = request.headers.get("host", "localhost")
    return {
        "accountId": PSEUDO["AWS::AccountId"],
        "apiId": "local",
        "domainName": host,
        "domainPrefix": host.split(".")[0],
        "extendedRequestId": str(uuid.uuid4()),
        "httpMethod": request.method,
        "identity": {
            "sourceIp": _source(request),
            "userAgent": request.headers.get("user-agent"),
        },
        "path": f"/{stage}{path}",
        "protocol": f"HTTP/{request.scope['http_version']}",
        "requestId": str(uuid.uuid4()),
        "requestTime": f"{now:%d/%b/%Y:%H:%M:%S +0000}",
        "requestTimeEpoch": int(now.timestamp() * 1000),
        "resourceId": "local",
        "resourcePath": route.path,
        "stage": stage,
    }


def _source(request: Request) -> str:
    return request.client.host if request.client else "127.0.0.1"


def _grouped(pairs: Pairs) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name, value in pairs:
        groups.setdefault(name, []).append(value)
    return groups


def http_response(payload: bytes) -> Response:
    """The HTTP answer for a function's answer.

    The body goes out as it stands, even if it says that it is base64: API Gateway decodes only where `BinaryMediaTypes`
    is set, and this template does not.

    Raises:
        ValueError: API Gateway would call the answer malformed.
    """
    answer = json.loads(payload)
    match answer:
        case {"statusCode": int(status)} if 200 <= status <= 599:
            headers, body = _headers(answer), answer.get("body") or ""
        case _:
            raise ValueError("no status code")
    if not isinstance(body, str):
        raise ValueError("the body is no text")  # noqa: TRY004  one error for every malformed answer
    response = Response(body, status)
    response.raw_headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    if not any(name.lower() == "content-type" for name, _ in headers):
        response.headers["content-type"] = "application/json"
    return response


def _headers(answer: dict[str, Any]) -> Pairs:
    """Both maps as one list; where they share a name, the list of values stands."""
    lists, singles = answer.get("multiValueHeaders") or {}, answer.get("headers") or {}
    if not (isinstance(singles, dict) and isinstance(lists, dict) and all(isinstance(v, list) for v in lists.values())):
        raise ValueError("headers of another form")
    several = {name.lower(): (name, values) for name, values in lists.items()}
    for name, value in singles.items():
        several.setdefault(name.lower(), (name, [value]))
    pairs: Pairs = []
    for name, values in several.values():
        sent = f"x-amzn-Remapped-{name}" if name.lower() in REMAPPED else name
        for value in values:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            if not HEADER.fullmatch(f"{sent}: {text}"):
                raise ValueError("a header that HTTP cannot carry")
            pairs.append((sent, text))
    return pairs
