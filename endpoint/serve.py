"""The container's entry point: SageMaker runs the image with the one argument `serve`."""

import os
import signal
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from aws_lambda_powertools import Logger

from endpoint.app import create_app
from tokencount.adapters.faults import describe
from tokencount.adapters.settings import BadSetting, EndpointSettings

if TYPE_CHECKING:
    from endpoint.counting import EndpointCounter

# SageMaker sends SIGTERM, and SIGKILL 30 seconds later.
GRACE = 25
# An idle connection that is closed early may be one that SageMaker's proxy is just about to use again.
KEEP_ALIVE = 75


def main(arguments: list[str], environ: Mapping[str, str]) -> int:
    """Serves until SIGTERM, then ends what is under way; the exit code, 1 where the model cannot be loaded."""
    if arguments != ["serve"]:
        print("usage: python -m endpoint.serve serve", file=sys.stderr)
        return 2
    try:
        settings = EndpointSettings.from_env(environ)
    except BadSetting as error:
        print(error, file=sys.stderr)
        return 2
    return _serve(settings, Logger(service="endpoint"))


def _serve(settings: EndpointSettings, logger: Logger) -> int:
    with ThreadPoolExecutor(1, thread_name_prefix="loader") as loader:
        # In a thread, imports and all: until it is done, /ping has to say so.
        loading = loader.submit(_load, settings.model_dir)
        app = create_app(loading, logger)
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                host=settings.host,
                port=settings.port,
                lifespan="off",
                log_level="warning",
                access_log=False,
                timeout_graceful_shutdown=GRACE,
                timeout_keep_alive=KEEP_ALIVE,
            )
        )

        def end_without_a_model(done: "Future[EndpointCounter]") -> None:
            server.should_exit = server.should_exit or done.exception() is not None

        loading.add_done_callback(end_without_a_model)
        # uvicorn ends on the signal, then raises it once more.
        signal.signal(signal.SIGTERM, lambda *_: None)
        server.run()
    if error := loading.exception():
        logger.error("the model cannot be loaded", reason=str(error), fault=describe(error))
        return 1
    return 0


def _load(model_dir: Path) -> "EndpointCounter":
    from endpoint.counting import EndpointCounter  # noqa: PLC0415 - in this thread, while /ping answers

    return EndpointCounter.load(model_dir, threads=os.cpu_count() or 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
