"""A run of many requests against a running stack, as a customer whose limits are out of the way."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from docs.openapi.document import document
from local import aws
from local.stack import ROOT, Stack
from tests.fuzz import schemathesis_hooks
from tests.fuzz.client import SECONDS, Broken, Client, Figures, Request
from tests.fuzz.contract import Answer, Contract
from tests.support.requests import QWEN
from tokencount.adapters.credentials import CredentialStore
from tokencount.adapters.dynamodb import to_item
from tokencount.domain.issuing import Account, issue_pat

_BATCH = 500  # requests of one seed, so that a failure is soon found again
_OUT_OF_THE_WAY = 1_000_000_000


class Campaign:
    """Requests of many kinds, and the figures of their answers.

    Args:
        seed: the same requests for the same number.
        folder: for what schemathesis reads and writes.
        figures: of earlier requests, to go on with.
        limits: of the customer who sends them.
    """

    def __init__(self, stack: Stack, seed: int, folder: Path, figures: Figures | None = None, **limits: int) -> None:
        self.figures = figures or Figures()
        self._seed = seed
        self._batches = 0
        self._folder = folder
        self._url = stack.url
        self._secret = _customer(stack, **limits)
        self._client = Client(self._url, self._secret, Contract(document()), self.figures)

    def close(self) -> None:
        """End its connection."""
        self._client.close()

    def answer_to(self, request: Request) -> Answer:
        """The answer, which keeps the contract. Raises Broken."""
        return self._client.send(request)

    def send(self, requests: st.SearchStrategy[Request], number: int) -> None:
        """At least `number` requests of a kind. Raises Broken, with the smallest request that shows it."""
        wanted = self.figures.requests + number
        while (missing := wanted - self.figures.requests) > 0:
            self._send_batch(requests, min(missing, _BATCH), of_seed=self._seed * 1000 + self._batches)
            self._batches += 1

    def _send_batch(self, requests: st.SearchStrategy[Request], number: int, *, of_seed: int) -> None:
        @seed(of_seed)
        @settings(
            max_examples=number,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        )
        @given(requests)
        def keeps_the_contract(request: Request) -> None:
            self._client.send(request)

        keeps_the_contract()

    def schemathesis(self, *phases: str, examples: int = 1) -> None:
        """What schemathesis makes of the document. Raises Broken with its report.

        Args:
            phases: its own: coverage, fuzzing, stateful.
            examples: requests a route in a phase.
        """
        described = self._folder / "openapi.json"
        described.write_text(json.dumps(_with_served_model()))
        answers = self._folder / "answers.jsonl"
        answers.write_text("")
        environment = {
            "SCHEMATHESIS_HOOKS": schemathesis_hooks.__name__,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "functions")]),
            "NO_COLOR": "1",
            schemathesis_hooks.ANSWERS: str(answers),
        }
        command = _command(described, self._url, self._secret)
        command += [f"--phases={','.join(phases)}", f"--max-examples={examples}", f"--seed={self._seed}"]
        done = subprocess.run(
            command, env=os.environ | environment, cwd=self._folder, capture_output=True, text=True, check=False
        )
        for line in answers.read_text().splitlines():
            self.figures.add(*json.loads(line))
        if done.returncode:
            raise Broken(done.stdout + done.stderr)


def _command(described: Path, url: str, secret: str) -> list[str]:
    return [
        sys.executable, "-m", "schemathesis.cli", "run", str(described), f"--url={url}",
        f"--header=Authorization: Bearer {secret}", f"--request-timeout={SECONDS}",
        "--warnings=off", "--suppress-health-check=all",
        # A schema cannot say all: a cursor must be ours, a time in the future, an image an image.
        "--checks=all", "--exclude-checks=positive_data_acceptance",
    ]  # fmt: skip


def _with_served_model() -> dict[str, object]:
    """The document, but that a request is always for a model that is served."""
    described = document()
    described["components"]["schemas"]["CountTokensRequest"]["properties"]["model"]["enum"] = [QWEN]
    return described


def _customer(
    stack: Stack, *, requests_per_minute: int = _OUT_OF_THE_WAY, requests_in_flight: int = _OUT_OF_THE_WAY
) -> str:
    """The token of a new user of a new project with these limits: as no key, it cannot be revoked by a request."""
    now = datetime.now(UTC)
    account = Account.new(now)
    secret, credential = issue_pat(account, "fuzz", now)
    dynamodb = aws.session().client("dynamodb", endpoint_url=stack.aws_url, config=aws.DIRECT)
    CredentialStore(dynamodb, "CredentialsTable").add(secret, credential)
    for row in (
        {"id": f"settings#project#{account.project}", "requests_per_minute": requests_per_minute},
        {"id": f"settings#organization#{account.organization}", "requests_in_flight": requests_in_flight},
    ):
        dynamodb.put_item(TableName="LimitsTable", Item=to_item(row))
    return secret.reveal()
