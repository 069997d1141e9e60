"""Clients of AWS's services, by botocore itself: boto3 around it would add a tenth to the edge's cold start."""

from functools import cache
from typing import Any

from botocore.config import Config
from botocore.session import Session


def client(service: str, config: Config | None = None) -> Any:
    """A client in the function's own region; all of them share what was read of botocore's own files."""
    return session().create_client(service, config=config)


@cache
def session() -> Session:
    """Whose credentials and region the clients have; a process has one."""
    return Session()
