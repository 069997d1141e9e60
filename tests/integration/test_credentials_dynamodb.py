"""The credentials table of the template, on moto and on DynamoDB's own engine: what is written is found at once."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import boto3
import pytest
from botocore.config import Config
from moto import mock_aws

from local import aws
from local.stack import ROOT
from local.template import Template
from tokencount import bootstrap
from tokencount.adapters.accounts import Accounts
from tokencount.adapters.credentials import CredentialStore
from tokencount.domain.credentials import INFER_RUN, KEYS_MANAGE, SCOPES, Credential, new_secret, parse_secret
from tokencount.domain.errors import NodeUnavailable
from tokencount.domain.ids import new_id
from tokencount.domain.issuing import Account, Issued, issue_key, issue_pat, issue_session

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TABLE = "CredentialsTable"
# Later than the engine's own clock, by which it deletes what is past its time to live.
NOON = datetime(2090, 7, 26, 12, tzinfo=UTC)
ACCOUNT = Account("org_1", "prj_1", "usr_1")
ENGINE = pytest.param("engine", marks=[pytest.mark.dynamodb_local, pytest.mark.xdist_group("dynamodb-local")])


def engine_client(url: str) -> "DynamoDBClient":
    """A client of a database of its own."""
    return aws.session().client(
        "dynamodb",
        endpoint_url=url,
        aws_access_key_id=uuid4().hex,
        aws_secret_access_key="local",
        config=Config(proxies={}, read_timeout=60, retries={"total_max_attempts": 1}),
    )


@pytest.fixture(params=["moto", ENGINE])
def client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator["DynamoDBClient"]:
    if request.param == "engine":
        made = engine_client(request.getfixturevalue("engine"))
        create(made)
        yield made
        return
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        made = boto3.client("dynamodb")
        create(made)
        yield made


def create(client: "DynamoDBClient") -> None:
    template = Template(ROOT / "template.yaml")
    aws.create_table(client, TABLE, template.resolve(dict(template.resources("AWS::DynamoDB::Table"))[TABLE]))


@pytest.fixture
def store(client: "DynamoDBClient") -> CredentialStore:
    return CredentialStore(client, TABLE)


def key(**rest: Any) -> Issued:
    made: dict[str, Any] = {
        "organization": "org_1",
        "project": "prj_1",
        "name": "x",
        "scopes": [INFER_RUN],
        "now": NOON,
    }
    return issue_key(**made | rest)


def added(store: CredentialStore, *issued: Issued) -> list[Credential]:
    for each in issued:
        store.add(*each)
    return [credential for _, credential in issued]


def plain(credential: Credential | None) -> dict[str, Any]:
    assert credential
    return {name: getattr(credential, name) for name in Credential.__slots__} | {"scopes": [*credential.scopes]}


@pytest.mark.parametrize(
    "issued",
    [
        key(),
        key(scopes=[*SCOPES], expires_at=NOON + timedelta(days=1, microseconds=5), spend_cap=12.5, name="Ünï 🙂"),
        key(spend_cap=0),
        issue_pat(ACCOUNT, "mine", NOON),
        issue_session(ACCOUNT, "mine", NOON),
    ],
    ids=["key", "full key", "free key", "token", "session"],
)
def test_a_credential_is_found_by_its_secret_alone_as_it_was_made(store: CredentialStore, issued: Issued) -> None:
    store.add(*issued)
    assert plain(store.find(issued.secret)) == plain(issued.credential)
    assert store.find(new_secret("sk")) is None


@pytest.mark.parametrize(
    "cap", [pytest.param(10**308, id="309 digits"), 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 10.0]
)
def test_a_spend_cap_that_dynamodb_has_no_number_for_is_kept_exactly(store: CredentialStore, cap: float) -> None:
    issued = key(spend_cap=cap)
    store.add(*issued)
    found = store.find(issued.secret)
    assert found
    assert found.spend_cap == cap


def test_every_scope_of_the_project_is_a_tokens_own_without_being_stored(
    store: CredentialStore, client: "DynamoDBClient"
) -> None:
    issued = issue_pat(ACCOUNT, "mine", NOON)
    store.add(*issued)
    assert "scopes" not in str(client.scan(TableName=TABLE)["Items"])
    found = store.find(issued.secret)
    assert found
    assert tuple(found.scopes) == SCOPES


def test_of_a_credential_nothing_that_opens_anything_is_stored(
    store: CredentialStore, client: "DynamoDBClient"
) -> None:
    for issued in (key(), issue_pat(ACCOUNT, "mine", NOON), issue_session(ACCOUNT, "mine", NOON)):
        store.add(*issued)
        stored = str(client.scan(TableName=TABLE)["Items"])
        assert issued.secret.digest in stored
        assert issued.secret.reveal().split("_")[2] not in stored
        assert issued.secret.csrf_token not in stored


def test_a_list_has_a_projects_keys_alone_the_newest_first(store: CredentialStore) -> None:
    keys = added(store, *(key(now=NOON + timedelta(seconds=at)) for at in range(3)))
    added(store, key(project="prj_2"), issue_pat(ACCOUNT, "mine", NOON), issue_session(ACCOUNT, "mine", NOON))
    page = store.page("prj_1", 20)
    assert [listed.id for listed in page.keys] == [made.id for made in keys[::-1]]
    assert page.last is None
    assert store.page("prj_3", 20).keys == []


def test_pages_hold_every_key_once_also_those_of_one_moment(store: CredentialStore) -> None:
    made = added(store, *(key(now=NOON + timedelta(seconds=at // 4)) for at in range(11)))
    pages = []
    after: str | None = None
    while True:
        page = store.page("prj_1", 3, after)
        pages.append([listed.id for listed in page.keys])
        after = page.last
        if after is None:
            break
    assert [len(page) for page in pages] == [3, 3, 3, 2]
    ids = [listed for page in pages for listed in page]
    assert sorted(ids) == sorted(each.id for each in made)
    moments = {each.id: each.created_at for each in made}
    assert [moments[listed] for listed in ids] == sorted(moments.values(), reverse=True)


def test_a_page_that_is_full_to_the_last_key_is_the_last(store: CredentialStore) -> None:
    added(store, *(key(now=NOON + timedelta(seconds=at)) for at in range(4)))
    first = store.page("prj_1", 2)
    assert store.page("prj_1", 2, first.last).last is None


def test_after_a_key_of_another_project_or_of_none_there_is_nothing(store: CredentialStore) -> None:
    added(store, key())
    [theirs, token] = added(store, key(project="prj_2"), issue_pat(ACCOUNT, "mine", NOON))
    for after in (theirs.id, token.id, new_id("key", NOON)):
        page = store.page("prj_1", 5, after)
        assert (list(page.keys), page.last) == ([], None)


def test_a_revoked_key_is_known_as_revoked_at_once_and_by_its_first_time(store: CredentialStore) -> None:
    issued = key(spend_cap=1, expires_at=NOON + timedelta(days=1))
    store.add(*issued)
    revoked = store.revoke(issued.credential.id, "prj_1", NOON + timedelta(minutes=1))
    assert plain(revoked) == plain(issued.credential) | {"revoked_at": NOON + timedelta(minutes=1)}
    assert plain(store.find(issued.secret)) == plain(revoked)
    assert plain(store.revoke(issued.credential.id, "prj_1", NOON + timedelta(hours=1))) == plain(revoked)
    assert [plain(listed) for listed in store.page("prj_1", 5).keys] == [plain(revoked)]


def test_nothing_but_a_key_of_the_project_is_revoked(store: CredentialStore) -> None:
    issued = [key(project="prj_2"), issue_pat(ACCOUNT, "mine", NOON), issue_session(ACCOUNT, "mine", NOON)]
    for credential in added(store, *issued):
        assert store.revoke(credential.id, "prj_1", NOON) is None
    assert store.revoke(new_id("key", NOON), "prj_1", NOON) is None
    for secret, credential in issued:
        assert plain(store.find(secret)) == plain(credential)


def test_a_session_goes_with_its_time_and_a_key_stays_to_be_listed(
    store: CredentialStore, client: "DynamoDBClient"
) -> None:
    added(store, key(expires_at=NOON + timedelta(hours=1)), issue_pat(ACCOUNT, "mine", NOON))
    assert "ttl" not in str(client.scan(TableName=TABLE)["Items"])
    session = issue_session(ACCOUNT, "mine", NOON)
    store.add(*session)
    ends = {"N": str(int((NOON + timedelta(hours=12)).timestamp()))}
    assert [row["ttl"] for row in client.scan(TableName=TABLE)["Items"] if "ttl" in row] == [ends, ends]


def test_a_table_that_does_not_answer_is_told_in_the_domains_words(client: "DynamoDBClient") -> None:
    store, issued = CredentialStore(client, "none"), key()
    calls: list[Any] = [
        lambda: store.find(issued.secret),
        lambda: store.add(*issued),
        lambda: store.page("prj_1", 5),
        lambda: store.page("prj_1", 5, issued.credential.id),
        lambda: store.revoke(issued.credential.id, "prj_1", NOON),
        lambda: Accounts(client, "none").first(),
        lambda: bootstrap.start(Accounts(client, "none"), NOON),
    ]
    for call in calls:
        with pytest.raises(NodeUnavailable) as refusal:
            call()
        assert refusal.value.retry_after == 5


def test_a_table_is_started_once_with_an_account_and_its_credentials(
    store: CredentialStore, client: "DynamoDBClient"
) -> None:
    accounts = Accounts(client, TABLE)
    assert accounts.first() is None
    first = bootstrap.start(accounts, NOON)
    account = accounts.first()
    assert first
    assert account
    rows = client.scan(TableName=TABLE)["Items"]
    assert bootstrap.start(accounts, NOON + timedelta(days=1)) is None
    assert client.scan(TableName=TABLE)["Items"] == rows
    for secret, credential in first:
        assert plain(store.find(secret)) == plain(credential)
        assert (credential.organization, credential.project) == (account.organization, account.project)
    assert [credential.kind for _, credential in first] == ["pat", "session", "api_key"]
    assert [credential.user for _, credential in first] == [account.user, account.user, None]
    assert list(first.api_key.credential.scopes) == [INFER_RUN]
    kinds = {row["id"]["S"]: row["kind"]["S"] for row in rows if "kind" in row}
    assert kinds == {account.organization: "organization", account.project: "project", account.user: "user"}
    assert [listed.id for listed in store.page(account.project, 5).keys] == [first.api_key.credential.id]


@pytest.mark.dynamodb_local
@pytest.mark.xdist_group("dynamodb-local")
def test_of_many_that_start_a_table_at_once_one_does(engine: str) -> None:
    client = engine_client(engine)
    create(client)
    ready = threading.Barrier(8)

    def start() -> bootstrap.FirstCredentials | None:
        ready.wait()
        try:
            return bootstrap.start(Accounts(client, TABLE), NOON)
        except NodeUnavailable:  # another one's transaction was under way
            return None

    with ThreadPoolExecutor(8) as pool:
        started = [task.result() for task in [pool.submit(start) for _ in range(8)]]
    assert len([first for first in started if first]) == 1
    marks = [row for row in client.scan(TableName=TABLE)["Items"] if row["id"]["S"].startswith("org_")]
    assert len(marks) == 1


@pytest.fixture
def region(monkeypatch: pytest.MonkeyPatch) -> Iterator["DynamoDBClient"]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("dynamodb")
        create(client)
        yield client


def secrets_in(text: str) -> list[str]:
    return [word for word in text.split() if word.startswith("b3os_")]


def test_bootstrap_prints_the_secrets_once(region: "DynamoDBClient", capsys: pytest.CaptureFixture[str]) -> None:
    assert bootstrap.main([TABLE]) == 0
    text = capsys.readouterr().out
    assert [secret.split("_")[1] for secret in secrets_in(text)] == ["pat", "ses", "sk"]
    account = Accounts(region, TABLE).first()
    assert account
    assert all(each in text for each in (account.organization, account.project, account.user))
    assert bootstrap.main([TABLE]) == 0
    again = capsys.readouterr().out
    assert account.organization in again
    assert "exist already" in again
    assert not secrets_in(again)


@pytest.mark.parametrize(("new", "kind"), [("key", "api_key"), ("pat", "pat"), ("session", "session")])
def test_bootstrap_makes_another_credential_where_it_is_asked_to(
    new: str, kind: str, region: "DynamoDBClient", capsys: pytest.CaptureFixture[str]
) -> None:
    bootstrap.main([TABLE])
    capsys.readouterr()
    assert bootstrap.main([TABLE, "--new", new]) == 0
    [text] = secrets_in(capsys.readouterr().out)
    found = CredentialStore(region, TABLE).find(parse_secret(text))
    account = Accounts(region, TABLE).first()
    assert found
    assert account
    assert (found.kind, found.organization, found.project) == (kind, account.organization, account.project)
    assert KEYS_MANAGE in found.scopes or kind == "api_key"


def test_bootstrap_of_a_table_that_is_not_there_is_one_sentence(
    region: "DynamoDBClient", capsys: pytest.CaptureFixture[str]
) -> None:
    assert bootstrap.main(["none"]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("tokencount: the table none cannot be started: ")
    assert "ResourceNotFoundException" in output.err
    assert output.err.count("\n") == 1
