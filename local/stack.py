"""The local stack as one object: everything it starts ends with it.

    with Stack() as stack:
        requests.get(stack.url + "/v1/infer/models", headers={"authorization": f"Bearer {stack.api_key}"})
        stack.invoke("EdgeFunction", event)

It runs in a thread of its own, so that a test or a script can use it from plain code.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

import uvicorn
from anyio.from_thread import start_blocking_portal
from starlette.types import ASGIApp

from local import aws
from local.endpoint import Endpoint
from local.errors import StackError
from local.gateway import Gateway
from local.lambda_api import lambda_api
from local.pool import Pool
from local.port import claim
from local.process import Answer
from local.queues import polled
from local.sagemaker_api import sagemaker_api
from local.template import Function, Template

ROOT = Path(__file__).resolve().parent.parent
# Where events are recorded, below the folder of the stack's state.
EVENTS = "events"
# What an endpoint's container runs.
CONTAINER = "endpoint.serve"


class Stack:
    """The service on loopback, as `template.yaml` describes it.

    Args:
        port: of the HTTP front; 0 takes a free one.
        state: folder for `stack.json` and the functions' logs; one that is thrown away if not given.
        root: folder of `template.yaml`.
        dynamodb: URL of an empty DynamoDB to have the tables in, instead of moto's.
        endpoint: module that an endpoint's container runs; None: no endpoint is deployed.
        warm: start a worker of every function at once, and not when it is first invoked.
        record_events: keep the events of count requests, in the folder `events` of `state`.
    """

    url: str
    api_key: str
    pat: str
    session: str
    aws_url: str  # of what stands in for AWS
    models: list[str]  # ids of those that are served, in the template's order

    def __init__(
        self,
        port: int = 0,
        *,
        state: Path | None = None,
        root: Path = ROOT,
        dynamodb: str | None = None,
        endpoint: str | None = None,
        warm: bool = True,
        record_events: bool = False,
    ) -> None:
        self._port = port
        self._state = state
        self._root = root
        self._dynamodb = dynamodb
        self._endpoint = endpoint
        self._warm = warm
        self._record_events = record_events
        self.template = Template(root / "template.yaml", endpoints="local:local" if endpoint else "")
        self.pools: dict[str, Pool] = {}
        self.endpoints: dict[str, Endpoint] = {}
        self._ready = False

    def __enter__(self) -> Self:
        with ExitStack() as ending:
            front = ending.enter_context(claim(self._port))
            self.url = "http://{}:{}".format(*front.getsockname())
            self._state = self._state or Path(ending.enter_context(TemporaryDirectory()))
            functions = list(self._served())
            self._portal = ending.enter_context(start_blocking_portal())
            ending.enter_context(self._portal.wrap_async_context_manager(self._running(front, functions, self._state)))
            self._ending = ending.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.__exit__(kind, error, trace)

    def invoke(self, function: str, event: object) -> Answer:
        """Run a function on an event, as `sam local invoke` would."""
        # Half of a surrogate pair is no UTF-8: it alone is escaped, as JSON escapes it.
        text = json.dumps(event, ensure_ascii=False).encode(errors="backslashreplace")
        return self._portal.call(self.pools[function].invoke, text)

    def service_variables(self, aws_url: str, invoke: str, sagemaker: str) -> dict[str, str]:
        """The environment variables by which botocore in a function finds each service."""
        variables = aws.endpoint_variables(aws_url, invoke, self._dynamodb)
        return variables | {"AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": sagemaker}

    def _served(self) -> Iterator[tuple[Function, dict[str, str]]]:
        """Every function but the counters of models that the edge does not list, and where a counter's model is."""
        self.models = []
        for function in self.template.functions.values():
            if "MODEL_DIR" not in function.environment:
                yield function, {}
            elif model := self._listed_model(function):
                self.models.append(model[0])
                yield function, {"MODEL_DIR": str(model[1])}
        if not self.models:
            raise StackError("no model is built: run `make layers` first")

    def _listed_model(self, function: Function) -> tuple[str, Path] | None:
        """The id and the built layer of a counter's model, if the edge lists it."""
        [layer] = [folder.name for folder in function.layers if (folder / "manifest.toml").exists()]
        built = self._root / ".build" / "layers" / layer / "model"
        listed = function.code / "edge" / "models.json"
        if not ((built / "model.json").exists() and listed.exists()):
            return None
        model = str(json.loads((built / "model.json").read_bytes())["id"])
        return (model, built) if model in json.loads(listed.read_bytes()) else None

    @asynccontextmanager
    async def _running(
        self, front: socket, functions: list[tuple[Function, dict[str, str]]], state: Path
    ) -> AsyncIterator[None]:
        logs = state / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        with aws.moto(logs / "moto.log") as endpoint, claim(0) as invoke, claim(0) as sagemaker:
            self.aws_url = endpoint
            first = await asyncio.to_thread(aws.provision, self.template, endpoint, self._dynamodb)
            self.pat, self.session, self.api_key = (secret.reveal() for secret, _ in first)
            invoke_url, sagemaker_url = ("http://{}:{}".format(*each.getsockname()) for each in (invoke, sagemaker))
            variables = self.service_variables(endpoint, invoke_url, sagemaker_url)
            if self._record_events:
                variables["RECORDINGS"] = str(state.absolute() / EVENTS)
            for function, model in functions:
                log = logs / f"{function.name}.log"
                log.write_bytes(b"")
                self.pools[function.name] = Pool(function, variables | model, log, self._tell)
                if self._endpoint and (name := function.environment.get("ENDPOINT_NAME")):
                    folder, output = Path(model["MODEL_DIR"]), logs / f"{name}.log"
                    self.endpoints[name] = Endpoint(self._endpoint, ROOT, folder, output)
            sqs = aws.session().client("sqs", endpoint_url=endpoint, config=aws.DIRECT)
            async with (
                _served(lambda_api(self.pools), invoke),
                _served(sagemaker_api(self.endpoints), sagemaker),
                _served(Gateway(self.template, self.pools), front),
                polled(self.template.event_sources, self.pools, sqs),
            ):
                try:
                    await asyncio.gather(
                        *(pool.warm() for pool in self.pools.values() if self._warm),
                        *(each.start() for each in self.endpoints.values()),
                    )
                    self._ready = True
                    self._tell()
                    yield
                finally:
                    self._ready = False
                    for each in self.endpoints.values():
                        each.close()
                    await asyncio.gather(*(pool.close() for pool in self.pools.values()))
                    (state / "stack.json").unlink(missing_ok=True)

    def _tell(self) -> None:
        """Write stack.json, for scripts that want to know the URL, the key or a worker's process."""
        if not self._ready or self._state is None:
            return
        workers = {name: pool.pids for name, pool in self.pools.items()}
        text = json.dumps({"url": self.url, "api_key": self.api_key, "pid": os.getpid(), "workers": workers})
        draft = self._state / f"stack.json.{os.getpid()}"
        with suppress(OSError):  # on a full disk the service goes on
            with open(draft, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(text)
            draft.replace(self._state / "stack.json")


@asynccontextmanager
async def _served(app: ASGIApp, listener: socket) -> AsyncIterator[None]:
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving
