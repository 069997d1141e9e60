"""Workers run handlers as Lambda runs them: these are small handlers, each with a fault of its own."""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from local.errors import StackError
from local.pool import MAX_PAYLOAD, MAX_WORKERS, PayloadTooLarge, Pool
from local.process import Answer
from local.template import Function
from tests.support.local import runs

HANDLERS = """
import os, pathlib, sys, time

def handler(event, context):
    match event["do"]:
        case "echo":
            where = {"path": sys.path[0], "cwd": os.getcwd(), "pid": os.getpid()}
            return {"event": event, "key": os.environ["KEY"], **where}
        case "context":
            return {
                "name": context.function_name,
                "arn": context.invoked_function_arn,
                "memory": context.memory_limit_in_mb,
                "id": context.aws_request_id,
                "left": context.get_remaining_time_in_millis(),
            }
        case "environment":
            return dict(os.environ)
        case "wait for others":
            pathlib.Path(event["folder"], str(os.getpid())).touch()
            while len(list(pathlib.Path(event["folder"]).iterdir())) < event["others"]:
                time.sleep(0.01)
            return os.getpid()
        case "raise":
            raise LookupError("no such thing")
        case "crash":
            os._exit(3)
        case "leave":
            sys.exit(4)
        case "object":
            return object()
        case "print":
            print("said by the handler")
"""

Scenario = Callable[[Pool], Coroutine[Any, Any, Any]]
Run = Callable[[Scenario], Any]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a scenario on a warm pool over the handlers above."""
    (tmp_path / "faults").mkdir()
    (tmp_path / "faults" / "handler.py").write_text(HANDLERS)

    return lambda scenario: asyncio.run(_with_pool(_function(tmp_path), tmp_path / "log", scenario))


def _function(code: Path, *, timeout: float = 30, handler: str = "faults.handler.handler") -> Function:
    return Function("Faults", handler, code, timeout, 256, "live", (), {"KEY": "from the template"})


async def _with_pool(function: Function, log: Path, scenario: Scenario) -> Any:
    pool = Pool(function, {}, log, lambda: None)
    try:
        await pool.warm()
        return await scenario(pool)
    finally:
        pids = pool.pids
        await pool.close()
        assert not any(runs(pid) for pid in pids)


async def _do(pool: Pool, what: str, **more: object) -> Answer:
    return await pool.invoke(json.dumps({"do": what, **more}).encode())


def test_the_handler_runs_in_a_process_of_its_own_with_the_functions_folder_first_on_its_path(
    run: Run, tmp_path: Path
) -> None:
    answer = json.loads(run(lambda pool: _do(pool, "echo", text="héllo \u2028")).payload)
    assert answer["event"] == {"do": "echo", "text": "héllo \u2028"}
    assert answer["pid"] != os.getpid()
    assert answer["path"] == answer["cwd"] == str(tmp_path)
    assert answer["key"] == "from the template"


def test_the_context_is_as_lambdas(run: Run) -> None:
    context = json.loads(run(lambda pool: _do(pool, "context")).payload)
    assert context["name"] == "Faults"
    assert context["memory"] == "256"
    assert context["arn"] == "arn:aws:lambda:us-east-1:123456789012:function:Faults"
    assert len(context["id"]) == 36
    assert 0 < context["left"] <= 30_000


def test_nothing_of_the_users_own_aws_settings_or_proxies_reaches_a_function(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "HTTP_PROXY", "https_proxy", "PYTHONPATH"):
        monkeypatch.setenv(name, "leaked")
    environment = json.loads(run(lambda pool: _do(pool, "environment")).payload)
    assert "leaked" not in environment.values()
    assert environment["AWS_ACCESS_KEY_ID"].isalnum()


def test_an_exception_is_a_failed_answer_with_its_type_and_trace_and_the_worker_goes_on(run: Run) -> None:
    async def scenario(pool: Pool) -> tuple[list[int], Answer, list[int]]:
        return pool.pids, await _do(pool, "raise"), pool.pids

    before, answer, after = run(scenario)
    failure = json.loads(answer.payload)
    assert answer.failed
    assert (failure["errorType"], failure["errorMessage"]) == ("LookupError", "no such thing")
    assert "raise LookupError" in failure["stackTrace"][-1]
    assert before == after


def test_an_answer_that_is_no_json_is_a_failed_answer(run: Run) -> None:
    answer = run(lambda pool: _do(pool, "object"))
    assert answer.failed
    assert "not JSON serializable" in json.loads(answer.payload)["errorMessage"]


@pytest.mark.parametrize(("fault", "status"), [("crash", "exit status 3"), ("leave", "exit status 4")])
def test_a_crash_is_a_failed_answer_and_another_worker_takes_over(run: Run, fault: str, status: str) -> None:
    async def scenario(pool: Pool) -> tuple[list[int], Answer, Answer]:
        return pool.pids, await _do(pool, fault), await _do(pool, "echo")

    [pid], failed, answer = run(scenario)
    failure = json.loads(failed.payload)
    assert failed.failed
    assert failure["errorType"] == "Runtime.ExitError"
    assert failure["errorMessage"].endswith(f"Runtime exited with error: {status}")
    assert json.loads(answer.payload)["pid"] != pid


def test_a_function_that_takes_too_long_is_ended_and_another_worker_takes_over(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\ndef handler(event, context): return time.sleep(event)\n")

    async def scenario(pool: Pool) -> tuple[list[int], Answer, Answer]:
        return pool.pids, await pool.invoke(b"60"), await pool.invoke(b"0")

    function = _function(tmp_path, timeout=1, handler="slow.handler")
    [pid], failed, answer = asyncio.run(_with_pool(function, tmp_path / "log", scenario))
    assert failed.failed
    assert json.loads(failed.payload)["errorMessage"].endswith("Task timed out after 1.00 seconds")
    assert not runs(pid)
    assert answer == Answer(b"null")


def test_a_worker_killed_from_outside_is_replaced(run: Run) -> None:
    async def scenario(pool: Pool) -> Answer:
        os.kill(pool.pids[0], signal.SIGKILL)
        while (answer := await _do(pool, "echo")).failed:
            assert b"Runtime.ExitError" in answer.payload  # it was asked before it was gone
        return answer

    assert not run(scenario).failed


def test_when_all_workers_are_busy_more_are_started_up_to_the_cap(run: Run, tmp_path: Path) -> None:
    (tmp_path / "met").mkdir()

    async def scenario(pool: Pool) -> tuple[list[Answer], int]:
        wait = [
            _do(pool, "wait for others", folder=str(tmp_path / "met"), others=MAX_WORKERS) for _ in range(MAX_WORKERS)
        ]
        more = [_do(pool, "echo") for _ in range(5)]
        answers = await asyncio.gather(*wait, *more)
        return answers[:MAX_WORKERS], len(pool.pids)

    answers, workers = run(scenario)
    assert len({answer.payload for answer in answers}) == workers == MAX_WORKERS


def test_a_caller_that_gives_up_leaves_the_worker_fit_for_the_next(run: Run, tmp_path: Path) -> None:
    (tmp_path / "met").mkdir()

    async def scenario(pool: Pool) -> tuple[list[int], Answer, list[int]]:
        waiting = asyncio.create_task(_do(pool, "wait for others", folder=str(tmp_path / "met"), others=2))
        while not list((tmp_path / "met").iterdir()):
            await asyncio.sleep(0.01)
        waiting.cancel()
        before = pool.pids
        (tmp_path / "met" / "another").touch()
        return before, await _do(pool, "context"), pool.pids

    before, answer, after = run(scenario)
    assert "arn" in json.loads(answer.payload)
    assert set(before) <= set(after)


def test_an_event_of_more_than_six_mebibytes_is_refused_and_one_of_exactly_that_is_not(run: Run) -> None:
    async def scenario(pool: Pool) -> Answer:
        frame = len(json.dumps({"do": "context", "pad": ""}))
        answer = await _do(pool, "context", pad="x" * (MAX_PAYLOAD - frame))
        with pytest.raises(PayloadTooLarge):
            await _do(pool, "context", pad="x" * (MAX_PAYLOAD - frame + 1))
        return answer

    assert not run(scenario).failed


def test_what_a_handler_prints_goes_to_its_log(run: Run, tmp_path: Path) -> None:
    run(lambda pool: _do(pool, "print"))
    assert (tmp_path / "log").read_text() == "said by the handler\n"


def test_a_crash_is_told_in_the_log_too(run: Run, tmp_path: Path) -> None:
    answer = run(lambda pool: _do(pool, "crash"))
    assert answer.payload.decode() + "\n" in (tmp_path / "log").read_text()


def test_a_handler_that_cannot_be_imported_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import nothing_of_that_name")

    async def scenario() -> None:
        await _with_pool(
            _function(tmp_path, handler="broken.handler"), tmp_path / "log", lambda pool: _do(pool, "echo")
        )

    with pytest.raises(StackError, match=r"^Faults does not start: ModuleNotFoundError: No module named 'nothing_of_"):
        asyncio.run(scenario())


def test_a_handler_that_breaks_later_fails_each_invocation_and_works_again_once_mended(tmp_path: Path) -> None:
    (tmp_path / "faults.py").write_text("import os\ndef handler(event, context): os._exit(1)\n")

    async def scenario(pool: Pool) -> tuple[Answer, Answer, Answer]:
        mended = (tmp_path / "faults.py").read_text()
        (tmp_path / "faults.py").write_text("this is no Python")
        crashed, broken = await _do(pool, ""), await _do(pool, "")
        (tmp_path / "faults.py").write_text(mended.replace("os._exit(1)", "return 7"))
        return crashed, broken, await _do(pool, "")

    function = _function(tmp_path, handler="faults.handler")
    crashed, broken, mended = asyncio.run(_with_pool(function, tmp_path / "log", scenario))
    assert json.loads(crashed.payload)["errorType"] == "Runtime.ExitError"
    assert json.loads(broken.payload)["errorType"] == "SyntaxError"
    assert mended == Answer(b"7")


def test_a_worker_that_the_machine_cannot_start_fails_its_invocation_alone(tmp_path: Path) -> None:
    code, away = tmp_path / "code", tmp_path / "away"
    code.mkdir()
    (code / "faults.py").write_text(HANDLERS)

    async def scenario(pool: Pool) -> tuple[list[Answer], Answer]:
        code.rename(away)  # as where there is no memory, no process or no file to be had
        failed = [await _do(pool, "crash"), *await asyncio.gather(*[_do(pool, "context") for _ in range(3)])]
        away.rename(code)
        return failed, await _do(pool, "context")

    function = _function(code, handler="faults.handler")
    failed, answer = asyncio.run(_with_pool(function, tmp_path / "log", scenario))
    assert [each.failed for each in failed] == [True] * 4
    assert {json.loads(each.payload)["errorType"] for each in failed} == {"Runtime.ExitError", "FileNotFoundError"}
    assert not answer.failed


def test_where_no_worker_is_left_and_none_can_be_started_all_who_wait_are_told_so(tmp_path: Path) -> None:
    code, away = tmp_path / "code", tmp_path / "away"
    code.mkdir()
    (code / "faults.py").write_text(HANDLERS)

    async def scenario(pool: Pool) -> tuple[list[Answer], Answer]:
        waiting = [asyncio.create_task(_do(pool, "crash")) for _ in range(10)]
        await asyncio.sleep(0)  # one has a worker, some are starting, most wait for what comes of those
        code.rename(away)
        async with asyncio.timeout(60):  # or for ever
            failed = await asyncio.gather(*waiting)
        away.rename(code)
        return failed, await _do(pool, "context")

    function = _function(code, handler="faults.handler")
    failed, answer = asyncio.run(_with_pool(function, tmp_path / "log", scenario))
    assert [each.failed for each in failed] == [True] * 10
    assert "FileNotFoundError" in {json.loads(each.payload)["errorType"] for each in failed}
    assert not answer.failed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_crash_is_a_failed_answer_though_the_log_s_disk_is_full(tmp_path: Path) -> None:
    (tmp_path / "faults.py").write_text(HANDLERS)

    async def scenario(pool: Pool) -> tuple[Answer, Answer]:
        return await _do(pool, "crash"), await _do(pool, "context")

    function = _function(tmp_path, handler="faults.handler")
    failed, answer = asyncio.run(_with_pool(function, Path("/dev/full"), scenario))
    assert json.loads(failed.payload)["errorType"] == "Runtime.ExitError"
    assert not answer.failed


def test_who_gives_up_while_a_worker_starts_leaves_it_or_its_failure_to_no_later_request(tmp_path: Path) -> None:
    (tmp_path / "faults.py").write_text(HANDLERS)

    async def scenario(pool: Pool) -> list[Answer]:
        (tmp_path / "faults.py").write_text("this is no Python")
        await _do(pool, "crash")
        waiting = [asyncio.create_task(_do(pool, "context")) for _ in range(4)]
        await asyncio.sleep(0)
        for each in waiting[1:]:
            each.cancel()
        assert (await waiting[0]).failed
        (tmp_path / "faults.py").write_text(HANDLERS)
        while (first := await _do(pool, "context")).failed:
            pass  # one that had begun to start before
        return [first, *await asyncio.gather(*[_do(pool, "context") for _ in range(4)])]

    function = _function(tmp_path, handler="faults.handler")
    answers = asyncio.run(_with_pool(function, tmp_path / "log", scenario))
    assert not any(answer.failed for answer in answers)
