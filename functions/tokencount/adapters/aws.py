"""Clients of AWS's services: botocore's, one session a process.

They are what boto3 wraps; to import boto3 as well would be a tenth of the edge's cold start.
"""

from functools import cache
from typing import Any

from botocore.config import Config
from botocore.session import Session

from tokencount.adapters.snapshot import after_restore, before_snapshot, renew_randomness


def client(service: str, config: Config | None = None) -> Any:
    """A client in the function's own region; all of them share what was read of botocore's own files."""
    made: Any = session().create_client(service, config=config)
    # A connection that was opened before would be dead in what is restored.
    before_snapshot(made.close)
    return made


@cache
def session() -> Session:
    """Whose credentials and region the clients have; a process has one."""
    after_restore(renew_randomness)
    return Session()
