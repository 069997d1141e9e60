"""Clients of AWS's services: boto3, one session a process."""

from functools import cache
from typing import Any

import boto3
from botocore.config import Config

from tokencount.adapters.snapshot import after_restore, before_snapshot, renew_randomness


def client(service: str, config: Config | None = None) -> Any:
    """A client in the function's own region; all of them share what was read of botocore's own files."""
    made: Any = session().client(service, config=config)  # type: ignore[call-overload]  # the name is no literal
    # A connection that was opened before would be dead in what is restored.
    before_snapshot(made.close)
    return made


@cache
def session() -> boto3.Session:
    """Whose credentials and region the clients have; a process has one."""
    after_restore(renew_randomness)
    return boto3.Session()
