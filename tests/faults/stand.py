"""The service as the faults meet it: a running stack with a proxy before each service that its functions call."""

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local import aws
from local.endpoint import Endpoint
from local.stack import ROOT, Stack
from tests.support.tcp_proxy import Proxy
from tokencount.adapters.credentials import CredentialStore
from tokencount.adapters.dynamodb import from_item, to_item
from tokencount.domain.credentials import INFER_RUN
from tokencount.domain.issuing import Account, issue_key

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CLOCKS = "clocks.json"  # as skewed_edge.py reads them
MODELS = ("qwen3.5-9b", "llama-3.1-8b-instruct")
EDGE, COUNTER, OTHER = "EdgeFunction", "Qwen35Counter", "Llama318bInstructCounter"
SERVICES = ("DYNAMODB", "SQS", "SECRETS_MANAGER", "LAMBDA")
CONTAINER = "tests.support.endpoint_container"
PLACES = 12
# In the short form nobody waits for the template's own times. With less than 5 seconds no counter asks an endpoint.
SHORTER = {
    "    Timeout: 26\n": "    Timeout: 5.2\n",
    "      Timeout: 28\n": "      Timeout: 5.2\n",
    "VisibilityTimeout: 180\n": "VisibilityTimeout: 2\n",
}
# In the long form too, or a record would come three minutes after a fault.
SOONER = {"VisibilityTimeout: 180\n": "VisibilityTimeout: 10\n"}
SKEWED = {"Handler: edge.handler.handler\n": "Handler: skewed_edge.handler\n"}


class Proxied(Stack):
    """The stack with a proxy before each service, by the name that boto3's variables give it."""

    def service_variables(self, aws_url: str, invoke: str, sagemaker: str) -> dict[str, str]:
        """Those of the proxies."""
        variables = super().service_variables(aws_url, invoke, sagemaker)
        self.proxies = {name: Proxy(variables[f"AWS_ENDPOINT_URL_{name}"]) for name in SERVICES}
        return variables | {f"AWS_ENDPOINT_URL_{name}": proxy.url for name, proxy in self.proxies.items()}


class Stand:
    """A running stack, the account that sends the requests, and what there is to look at and to break."""

    def __init__(self, stack: Proxied, root: Path, engine: str) -> None:
        self.stack = stack
        self.proxies = stack.proxies
        self.root = root
        self.dynamodb: DynamoDBClient = aws.session().client("dynamodb", endpoint_url=engine, config=aws.DIRECT)
        self.account = Account.new(datetime.now(UTC))
        self.key = self.new_key()
        never = 1_000_000_000
        self._put(f"settings#project#{self.account.project}", requests_per_minute=never)
        self._put(f"settings#organization#{self.account.organization}", requests_in_flight=PLACES)

    @property
    def endpoint(self) -> Endpoint:
        """The one of the first model."""
        [endpoint] = self.stack.endpoints.values()
        return endpoint

    def new_key(self) -> str:
        """A key of the account that no function knows yet."""
        project, now = self.account.project, datetime.now(UTC)
        issued = issue_key(self.account.organization, project, name="test", scopes=[INFER_RUN], now=now)
        CredentialStore(self.dynamodb, "CredentialsTable").add(*issued)
        return issued.secret.reveal()

    def pids(self, function: str) -> list[int]:
        """The workers of a function."""
        return self.stack.pools[function].pids

    def signal(self, function: str, number: int) -> None:
        """Send every worker of a function a signal."""
        for pid in self.pids(function):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def set_clocks(self, seconds: dict[int, float]) -> None:
        """By how much the clocks of edges are ahead, by their processes."""
        text = ", ".join(f'"{pid}": {ahead}' for pid, ahead in seconds.items())
        draft = self.root / "clocks.draft"
        draft.write_text(f"{{{text}}}")
        draft.replace(self.root / "functions" / CLOCKS)

    def layer(self, model: str) -> Path:
        """The folder of a model's files, which may be changed."""
        return self.root / ".build" / "layers" / model / "model"

    def log(self, function: str) -> str:
        """What a function wrote so far."""
        return (self.root / "state" / "logs" / f"{function}.log").read_text("utf-8", "replace")

    def records(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Those of these requests that the table has, by id."""
        keys = [to_item({"id": each}) for each in ids]
        found: dict[str, dict[str, Any]] = {}
        for start in range(0, len(keys), 100):  # no more at a time
            asked: Any = {"RequestsTable": {"Keys": keys[start : start + 100], "ConsistentRead": True}}
            while asked:
                reply = self.dynamodb.batch_get_item(RequestItems=asked)
                rows = map(from_item, reply["Responses"]["RequestsTable"])
                found |= {row["id"]: row for row in rows}
                asked = reply["UnprocessedKeys"]
        return found

    def held(self) -> dict[str, float]:
        """The places that are taken, with the seconds after which each ends."""
        key = to_item({"id": f"leases#{self.account.organization}"})
        item = self.dynamodb.get_item(TableName="LimitsTable", Key=key, ConsistentRead=True).get("Item", {})
        leases: dict[str, int] = from_item(item).get("leases", {})
        return {request: end - time.time() for request, end in leases.items() if end > time.time()}

    def _put(self, row: str, **limits: int) -> None:
        self.dynamodb.put_item(TableName="LimitsTable", Item=to_item({"id": row, **limits}))


@contextmanager
def standing(root: Path, engine: str, *, long: bool) -> Iterator[Stand]:
    """A stand in that folder, its tables in that DynamoDB; `long`: with the template's own times."""
    _clone(root, SKEWED | (SOONER if long else SHORTER))
    with Proxied(root=root, state=root / "state", dynamodb=engine, endpoint=CONTAINER) as stack:
        try:
            yield Stand(stack, root, engine)
        finally:
            for proxy in stack.proxies.values():
                proxy.close()


def _clone(root: Path, changes: dict[str, str]) -> None:
    """The repository as far as the stack needs it, with two models whose files may be taken away."""
    (root / "layers").symlink_to(ROOT / "layers")
    (root / "functions").mkdir()
    for each in (ROOT / "functions").iterdir():
        (root / "functions" / each.name).symlink_to(each)
    (root / "functions" / "skewed_edge.py").symlink_to(Path(__file__).with_name("skewed_edge.py"))
    for model in MODELS:
        built = Path(".build", "layers", model, "model")
        shutil.copytree(ROOT / built, root / built, copy_function=os.symlink)
    text = (ROOT / "template.yaml").read_text("utf-8")
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (root / "template.yaml").write_text(text, "utf-8")
