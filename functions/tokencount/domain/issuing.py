"""Makes new credentials, and the account that a user's ones are for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from tokencount.domain.credentials import SCOPES, Credential, Kind, Secret, SecretKind, new_secret
from tokencount.domain.ids import new_id

SESSION_LIFETIME = timedelta(hours=12)
# By the kind of a credential, what its id begins with.
ID_PREFIXES: dict[Kind, str] = {"api_key": "key", "pat": "pat", "session": "ses"}
_SECRETS: dict[Kind, SecretKind] = {"api_key": "sk", "pat": "pat", "session": "ses"}


@dataclass(frozen=True, slots=True)
class Account:
    """A user in one organization and project of theirs, by their ids."""

    organization: str
    project: str
    user: str

    @classmethod
    def new(cls, now: datetime) -> "Account":
        """A new user in a new project of a new organization."""
        return cls(new_id("org", now), new_id("prj", now), new_id("usr", now))


class Issued(NamedTuple):
    """A new credential and its secret, which is known only now."""

    secret: Secret
    credential: Credential


def issue_key(
    organization: str,
    project: str,
    *,
    name: str,
    scopes: Sequence[str],
    now: datetime,
    expires_at: datetime | None = None,
    spend_cap: float | None = None,
) -> Issued:
    """A new API key of a project."""
    return _issue(
        "api_key", organization, project, name=name, scopes=scopes, now=now, expires_at=expires_at, spend_cap=spend_cap
    )


def issue_pat(account: Account, name: str, now: datetime) -> Issued:
    """A new token of a user, who has every scope of the project."""
    return _issue("pat", account.organization, account.project, user=account.user, name=name, now=now)


def issue_session(account: Account, name: str, now: datetime) -> Issued:
    """A new session of a user, who has every scope of the project for its 12 hours."""
    ends = now + SESSION_LIFETIME
    return _issue(
        "session", account.organization, account.project, user=account.user, name=name, now=now, expires_at=ends
    )


def _issue(
    kind: Kind, organization: str, project: str, *, now: datetime, scopes: Sequence[str] = SCOPES, **rest: Any
) -> Issued:
    secret = new_secret(_SECRETS[kind])
    credential = Credential(
        id=new_id(ID_PREFIXES[kind], now),
        kind=kind,
        organization=organization,
        project=project,
        scopes=scopes,
        prefix=secret.prefix,
        created_at=now,
        **rest,
    )
    return Issued(secret, credential)
