"""Starts a deployment's credentials table: `python -m tokencount.bootstrap TABLE`.

It writes the first organization, project and user, and for them a token, a session and an API key, whose secrets it
prints: they are shown this once. A table that was started already is left as it is; `--new` adds a credential to it.
"""

import argparse
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from botocore.exceptions import BotoCoreError

from tokencount.adapters.accounts import Accounts
from tokencount.adapters.aws import client
from tokencount.adapters.credentials import CredentialStore
from tokencount.domain.credentials import INFER_RUN
from tokencount.domain.errors import NodeUnavailable
from tokencount.domain.issuing import Account, Issued, issue_key, issue_pat, issue_session

NAME = "first"


class FirstCredentials(NamedTuple):
    """What a new table is started with: the key counts, and the others have every scope of the project."""

    pat: Issued
    session: Issued
    api_key: Issued


def start(accounts: Accounts, now: datetime) -> FirstCredentials | None:
    """Credentials of a first account; None, and nothing written, where there is one already.

    Raises:
        NodeUnavailable: the table does not answer.
    """
    account = Account.new(now)
    first = FirstCredentials(*(issue(account, now) for issue in _ISSUERS.values()))
    return first if accounts.open_first(account, NAME, first, now) else None


def main(arguments: list[str]) -> int:
    """The exit code: 0 where the table has its first account, 1 where it could not be reached."""
    parser = argparse.ArgumentParser(prog="python -m tokencount.bootstrap", description="Start a credentials table.")
    parser.add_argument("table", help="the stack's output CredentialsTable")
    parser.add_argument("--new", choices=_ISSUERS, help="another credential, where the table was started already")
    options = parser.parse_args(arguments)
    try:
        dynamodb = client("dynamodb")
        accounts, store = Accounts(dynamodb, options.table), CredentialStore(dynamodb, options.table)
        print(_bootstrap(accounts, store, options.new))
    except (BotoCoreError, NodeUnavailable) as error:
        print(f"tokencount: the table {options.table} cannot be started: {error.__cause__ or error}", file=sys.stderr)
        return 1
    return 0


def _bootstrap(accounts: Accounts, store: CredentialStore, new: str | None) -> str:
    now = datetime.now(UTC)
    started = start(accounts, now)
    account = accounts.first()
    assert account
    text = f"organization  {account.organization}\nproject       {account.project}\nuser          {account.user}\n"
    if started:
        return text + _shown(*started)
    if new is None:
        return f"{text}These exist already; ask for another credential of theirs with NEW={', '.join(_ISSUERS)}"
    issued = _ISSUERS[new](account, now)
    store.add(*issued)
    return text + _shown(issued)


def _shown(*issued: Issued) -> str:
    lines = [f"{credential.kind:12}  {secret.reveal()}" for secret, credential in issued]
    return "\n".join([*lines, "Keep them now: they are not shown again."])


def _first_key(account: Account, now: datetime) -> Issued:
    return issue_key(account.organization, account.project, name=NAME, scopes=[INFER_RUN], now=now)


# In the order of FirstCredentials.
_ISSUERS: dict[str, Callable[[Account, datetime], Issued]] = {
    "pat": lambda account, now: issue_pat(account, NAME, now),
    "session": lambda account, now: issue_session(account, NAME, now),
    "key": _first_key,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
