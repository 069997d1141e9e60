"""The counter function: everything is loaded at import, so that a snapshot holds it loaded."""

import gc

# What is made during a start is kept: to look through it for garbage would be a part of the time.
gc.disable()

import asyncio
import os
from functools import cache
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger
from mangum import Mangum

from counter.app import create_app
from tokencount.adapters.images import Images
from tokencount.adapters.metrics import Metrics
from tokencount.adapters.model_files import load_counter
from tokencount.adapters.node_tokens import NodeKeys, NodeTokens
from tokencount.adapters.settings import CounterSettings, MetricsSettings
from tokencount.domain.delegation import DelegatingCounter, Endpoint

if TYPE_CHECKING:
    from tokencount.adapters.remote_images import RemoteImages


def build(settings: CounterSettings, measured: MetricsSettings) -> Mangum:
    """The handler of one model's counter.

    Raises:
        BrokenLayer: a file of the model's layer is missing or not the one it was built with.
    """

    def read_keys() -> NodeKeys:
        # Not at import: botocore would be half of a cold start, and is needed only after a rotation of the keys.
        from tokencount.adapters.secrets import NodeKeySecret  # noqa: PLC0415

        return NodeKeySecret(settings.node_token_secret).read()

    # Mangum takes the thread's loop, and Python no longer makes one unasked.
    asyncio.set_event_loop(asyncio.new_event_loop())
    tokens = NodeTokens(NodeKeys.parse(settings.node_token_keys), read_keys)
    logger = Logger()
    metrics = Metrics(measured, logger)

    @cache
    def remote_images() -> "RemoteImages":
        # Not at import either: botocore keeps their budget, and few requests have images elsewhere.
        from counter.remote_images import build as build_remote_images  # noqa: PLC0415

        return build_remote_images(settings, logger, metrics)

    images = Images(lambda images, caller: remote_images().fetch(images, caller))
    counter = load_counter(settings.model_dir, images, fast_engine_after=settings.fast_engine_after)
    delegating = DelegatingCounter(counter, _endpoint(settings.endpoint_name))
    return Mangum(create_app(delegating, tokens, logger, metrics), lifespan="off")


def _endpoint(name: str | None) -> Endpoint | None:
    if name is None:
        return None
    # Only where there is one, and then in the snapshot as well: botocore would be half of a cold start.
    from tokencount.adapters.endpoint import SageMakerEndpoint  # noqa: PLC0415

    return SageMakerEndpoint.named(name)


handler: Any = build(CounterSettings.from_env(os.environ), MetricsSettings.from_env(os.environ))
gc.freeze()
gc.enable()
