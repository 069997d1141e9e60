"""What the counter and the endpoint say to each other through SageMaker's InvokeEndpoint.

The request is the Messages request itself with every image inlined as base64; its id goes and comes back as the custom
attributes. The answer's status says whether the endpoint did its work:

- 200 is its word on the request: `{"input_tokens": N}`, or `{"error": {"code", "message", "param"}}` where the model's
  own processor or chat template refuses it, which is the client's to mend. SageMaker makes a ModelError (424) of every
  4xx and 5xx, counts it among the endpoint's faults and hands the body on inside an exception, so a refusal is none.
- 400: not a Messages request for this model, as this version of the endpoint reads it; 413: a body or an image larger
  than it takes; 503: not loaded yet, busy, or too late to be of use; 500: a fault. `{"message": …}`, for a log: whoever
  asked may count in another way.
"""

import json
from typing import Any

from tokencount.adapters.answers import STATUS
from tokencount.domain.errors import CountError, InvalidRequest, UnsupportedImage, UnsupportedParameter

# InvokeEndpoint's CustomAttributes, as a container gets and gives them.
REQUEST_ID_HEADER = "x-amzn-sagemaker-custom-attributes"
# SageMaker's own bound for a request to a real-time endpoint.
MAX_BODY_BYTES = 25 * 1024 * 1024

# More than any request can have within those bytes.
_MAX_TOKENS = 1_000_000_000
_REFUSALS = {STATUS[error].code: error for error in (InvalidRequest, UnsupportedImage, UnsupportedParameter)}


def success(input_tokens: int) -> dict[str, Any]:
    """The body of a 200 with the count."""
    return {"input_tokens": input_tokens}


def refusal(error: CountError) -> dict[str, Any]:
    """The body of a 200 with what the client has to mend."""
    return {"error": {"code": STATUS[type(error)].code, "message": error.message, "param": error.param}}


def read_answer(body: bytes) -> int:
    """The input tokens of a 200's body.

    Raises:
        InvalidRequest, UnsupportedImage, UnsupportedParameter: the endpoint's refusal, in its words.
        ValueError: the body is no such answer.
    """
    try:
        answer = json.loads(body)
    except RecursionError as error:
        raise ValueError("the endpoint's answer is nested too deep") from error
    match answer:
        case {"input_tokens": int(tokens)} if tokens is not True and 0 < tokens <= _MAX_TOKENS:
            return tokens
        case {"error": {"code": str(code), "message": str(message), "param": str() | None as param}}:
            if code in _REFUSALS:
                raise _REFUSALS[code](message, param=param)
    raise ValueError("the endpoint's answer is neither a count nor a refusal")
