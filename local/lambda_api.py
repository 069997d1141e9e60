"""Lambda's Invoke API on loopback, as much of it as botocore uses: the edge calls its counters as in production."""

import re
from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.pool import MAX_PAYLOAD, PayloadTooLarge, Pool

# A name, or the end of an ARN, with or without a version or alias behind it.
NAME = re.compile(r"(?:arn:.*:function:)?(?P<name>[\w-]+)(?::(?P<qualifier>[\w$-]+))?")


def lambda_api(pools: Mapping[str, Pool]) -> Starlette:
    """The API over these functions."""

    async def invoke(request: Request) -> Response:
        found = NAME.fullmatch(request.path_params["function"])
        pool = pools.get(found["name"]) if found else None
        qualifier = request.query_params.get("Qualifier") or (found and found["qualifier"]) or "$LATEST"
        if pool is None or qualifier not in ("$LATEST", pool.function.alias):
            return _error(404, "ResourceNotFoundException", f"Function not found: {request.path_params['function']}")
        try:
            answer = await pool.invoke(await request.body())
        except PayloadTooLarge:
            message = f"Request must be smaller than {MAX_PAYLOAD} bytes for the InvokeFunction operation"
            return _error(413, "RequestEntityTooLargeException", message)
        headers = {"X-Amz-Executed-Version": "$LATEST" if qualifier == "$LATEST" else "1"}
        if answer.failed:
            headers["X-Amz-Function-Error"] = "Unhandled"
        return Response(answer.payload, 200, headers, "application/json")

    return Starlette(routes=[Route("/2015-03-31/functions/{function:path}/invocations", invoke, methods=["POST"])])


def _error(status: int, kind: str, message: str) -> Response:
    return JSONResponse({"Type": "User", "Message": message}, status, {"x-amzn-ErrorType": kind})
