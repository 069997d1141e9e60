"""Run as an endpoint's container: the real routes, over the function's own count; images are decoded all the same."""

import os
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import uvicorn
from aws_lambda_powertools import Logger

from endpoint.app import create_app
from endpoint.decoding import decode
from tests.support.requests import job, no_fetch
from tokencount.adapters.images import Images
from tokencount.adapters.model_files import load_counter
from tokencount.domain.chat import images_of
from tokencount.domain.counting import Counter, Phase


class DecodingCounter:
    """In the place of one that needs transformers."""

    def __init__(self, counter: Counter) -> None:
        self.model = counter.model
        self._counter = counter

    def count(self, request: dict[str, Any], phase: Phase, deadline: float) -> int:
        for image in images_of(request):
            decode(image)
        return self._counter.count(job(request)).input_tokens


if __name__ == "__main__":
    loaded: Future[Any] = Future()
    loaded.set_result(DecodingCounter(load_counter(Path(os.environ["MODEL_DIR"]), Images(no_fetch))))
    app = create_app(loaded, Logger(service="endpoint"))
    uvicorn.run(app, host=os.environ["BIND_HOST"], port=int(os.environ["SAGEMAKER_BIND_TO_PORT"]), log_level="warning")
