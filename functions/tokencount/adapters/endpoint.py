"""Asks a SageMaker endpoint for a count; whatever else comes back than an answer of its protocol is none."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Self

from botocore.config import Config
from botocore.exceptions import ClientError

from tokencount.adapters.aws import client
from tokencount.adapters.endpoint_protocol import read_answer
from tokencount.domain.delegation import EndpointUnavailable
from tokencount.domain.errors import CountError, quote

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

CALL_SECONDS = 20
# Of the function's own time: to count by itself after all, and to answer.
RESERVED_SECONDS = 3
LEAST_SECONDS = 5
# An answer is a number, or a sentence about the request.
MAX_ANSWER_BYTES = 64 * 1024
# One attempt: a second one would have the images decoded twice.
_CONFIG = Config(read_timeout=CALL_SECONDS, connect_timeout=2, retries={"total_max_attempts": 1})


class SageMakerEndpoint:
    """The endpoint of that name.

    Args:
        client: makes one attempt.
    """

    def __init__(self, client: "SageMakerRuntimeClient", name: str) -> None:
        self._client = client
        self._name = name

    @classmethod
    def named(cls, name: str) -> Self:
        """The endpoint of that name in the function's own account and region."""
        return cls(client("sagemaker-runtime", _CONFIG), name)

    def count(self, body: bytes, request_id: str, seconds_left: float) -> int:
        """The input tokens of a Messages request (JSON, images inlined).

        Raises:
            InvalidRequest, UnsupportedImage, UnsupportedParameter: the endpoint's refusal, in its words.
            EndpointUnavailable: there is no answer of its protocol, or none in time.
        """
        if seconds_left < LEAST_SECONDS:
            raise EndpointUnavailable(f"only {seconds_left:.1f} s left")
        # On a thread, which is left behind: botocore's timeouts begin anew with each byte, and know no name look-up.
        thread = ThreadPoolExecutor(1)
        try:
            answer = thread.submit(self._invoke, body, request_id)
            return read_answer(answer.result(min(CALL_SECONDS, seconds_left - RESERVED_SECONDS)))
        except CountError:
            raise
        except Exception as error:
            # Whatever the library makes of what came back.
            raise EndpointUnavailable(_reason(error)) from error
        finally:
            thread.shutdown(wait=False)

    def _invoke(self, body: bytes, request_id: str) -> bytes:
        reply = self._client.invoke_endpoint(
            EndpointName=self._name,
            ContentType="application/json",
            Accept="application/json",
            CustomAttributes=request_id,
            Body=body,
        )
        with closing(reply["Body"]) as stream:
            answer = stream.read(MAX_ANSWER_BYTES)
            # At the end, and only there, what came is held against the length that was announced.
            if stream.read(1):
                raise ValueError("the answer is too long to be one")
        return answer


def _reason(error: Exception) -> str:
    """The error's kind without its words, which may repeat the request's."""
    if not isinstance(error, ClientError):
        return type(error).__name__
    code = quote(error.response.get("Error", {}).get("Code", "an error without a code"))
    status = error.response.get("OriginalStatusCode")
    return code if status is None else f"{code} {status}"
