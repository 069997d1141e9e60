"""SageMaker's InvokeEndpoint on loopback, as much of it as botocore uses, with the errors that it is known for."""

from collections.abc import Mapping
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.endpoint import Endpoint, Unanswered
from local.template import PSEUDO

ATTRIBUTES = "x-amzn-sagemaker-custom-attributes"
# By the fault: status, kind and words of the answer.
FAULTS = {
    "throttled": (400, "ThrottlingException", "Rate exceeded"),
    "loading": (429, "ModelNotReadyException", "The model is still being loaded. Wait and try your request again."),
    "no capacity": (
        400,
        "ValidationError",
        "Inference Component has no capacity to process this request. ApplicationAutoScaling may be in-progress (if "
        "configured) or try to increase the capacity by invoking UpdateInferenceComponentRuntimeConfig API.",
    ),
    "unavailable": (503, "ServiceUnavailable", "The service is unavailable. Try your call again."),
}


def sagemaker_api(endpoints: Mapping[str, Endpoint]) -> Starlette:
    """The API over these endpoints."""

    async def invoke(request: Request) -> Response:
        name = request.path_params["name"]
        endpoint = endpoints.get(name)
        if endpoint is None or endpoint.fault == "absent":
            return _error(400, "ValidationError", f"Endpoint {name} of account {PSEUDO['AWS::AccountId']} not found.")
        if endpoint.fault in FAULTS:
            return _error(*FAULTS[endpoint.fault])
        body = await request.body()
        if endpoint.fault == "crashing":
            endpoint.close()
            return _model_error(name, 500, "")
        headers = {
            key: value for key, value in request.headers.items() if key in ("content-type", "accept", ATTRIBUTES)
        }
        try:
            answer = await endpoint.invoke(body, headers)
        except Unanswered:
            return _model_error(name, 500, "")
        if answer.status // 100 != 2:
            return _model_error(name, answer.status, answer.data.decode(errors="replace"))
        passed_on = {key: answer.headers[key] for key in ("content-type", ATTRIBUTES) if key in answer.headers}
        return Response(answer.data, 200, passed_on | {"x-amzn-invoked-production-variant": "all"})

    return Starlette(routes=[Route("/endpoints/{name}/invocations", invoke, methods=["POST"])])


def _error(status: int, kind: str, message: str) -> Response:
    return JSONResponse({"Message": message}, status, {"x-amzn-ErrorType": kind})


def _model_error(name: str, status: int, message: str) -> Response:
    """What SageMaker makes of every container's answer that is no success."""
    side = "client" if status < 500 else "server"
    group = f"/aws/sagemaker/Endpoints/{name}"
    content = {
        "ErrorCode": "CLIENT_ERROR_FROM_MODEL" if side == "client" else "INTERNAL_FAILURE_FROM_MODEL",
        "LogStreamArn": f"arn:aws:logs:{PSEUDO['AWS::Region']}:{PSEUDO['AWS::AccountId']}:log-group:{group}",
        "Message": f'Received {side} error ({status}) from primary with message "{message}".',
        "OriginalMessage": message,
        "OriginalStatusCode": status,
    }
    return JSONResponse(content, HTTPStatus.FAILED_DEPENDENCY, {"x-amzn-ErrorType": "ModelError"})
