"""Invokes functions: on a worker that is idle, and on a new one when all are busy, as Lambda does."""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from local.errors import StackError
from local.process import Answer, Worker
from local.template import Function

MAX_PAYLOAD = 6_291_456
MAX_WORKERS = 8
MAX_STARTING = 2  # at once: a start is a second of a processor, and a burst is often over before it
STOPPED = Answer(b'{"errorType": "Stopped", "errorMessage": "the local stack is stopping"}', failed=True)


class PayloadTooLarge(Exception):
    """The event has more bytes than Lambda takes."""


class Pool:
    """The workers of one function. `changed` is called whenever one comes or goes."""

    def __init__(self, function: Function, environment: dict[str, str], log: Path, changed: Callable[[], None]) -> None:
        self.function = function
        self._environment = environment
        self._log = log
        self._changed = changed
        self._workers: set[Worker] = set()
        self._idle: list[Worker] = []  # who worked last works next
        self._waiters: deque[asyncio.Future[Worker | Answer]] = deque()  # an answer tells of a failed start
        self._starting = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    @property
    def pids(self) -> list[int]:
        """The processes of the moment."""
        return sorted(worker.pid for worker in self._workers)

    async def warm(self) -> None:
        """Start the first worker; a handler that cannot be imported is an error of the stack here."""
        try:
            failure = await self._start(self._spawn())
        except OSError as error:
            raise StackError(f"{self.function.name} does not start: {error}") from error
        if failure:
            cause = json.loads(failure.payload)
            reason = f"{cause['errorType']}: {cause['errorMessage']}"
            raise StackError(f"{self.function.name} does not start: {reason} (more in {self._log})")

    async def invoke(self, event: bytes) -> Answer:
        """Run the function on the event (JSON text). Given up by its caller, a run goes on to its end, as in Lambda."""
        if len(event) > MAX_PAYLOAD:
            raise PayloadTooLarge
        free = await self._take()
        if isinstance(free, Answer):
            return free
        return await asyncio.shield(self._in_background(self._run(free, event)))

    async def close(self) -> None:
        """End every worker, also one that is starting; who still waits is told so."""
        self._closed = True
        for worker in self._workers:
            worker.kill()
        while self._waiters:
            self._give(STOPPED)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self) -> Worker | Answer:
        if self._closed:
            return STOPPED
        while self._idle:
            if (worker := self._idle.pop()).alive:
                return worker
            self._drop(worker)  # ended from outside while it was idle
        waiter: asyncio.Future[Worker | Answer] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._grow()
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._give(waiter.result())
            raise

    def _give(self, free: Worker | Answer) -> None:
        """To who waits longest. Where nobody waits a worker is idle, and why one did not start is of no use later."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(free)
                return
        if isinstance(free, Worker):
            self._idle.append(free)

    def _grow(self, at_least: int = 0) -> None:
        """Have a worker under way for each that waits, up to the cap. Where none is to come, all are told why."""
        missing = max(len(self._waiters) - self._starting, at_least - len(self._workers))
        room = min(MAX_WORKERS - len(self._workers), MAX_STARTING - self._starting)
        for _ in range(0 if self._closed else min(missing, room)):
            try:
                worker = self._spawn()
            except OSError as error:  # no memory, process or file to be had
                cause = {"errorType": type(error).__name__, "errorMessage": str(error)}
                failure = Answer(json.dumps(cause).encode(), failed=True)
                self._give(failure)
                while self._waiters and not self._workers:
                    self._give(failure)
            else:
                self._in_background(self._start_for_waiting(worker))

    def _spawn(self) -> Worker:
        worker = Worker(self.function, self._environment, self._log)
        self._starting += 1
        self._workers.add(worker)
        self._changed()
        return worker

    async def _start(self, worker: Worker) -> Answer | None:
        """None, or why it did not start."""
        answer = await worker.start()
        self._starting -= 1
        if answer.failed:
            self._drop(worker)
            return answer
        self._give(worker)
        return None

    async def _start_for_waiting(self, worker: Worker) -> None:
        failure = await self._start(worker)
        if failure:
            self._give(failure)
        self._grow()

    async def _run(self, worker: Worker, event: bytes) -> Answer:
        answer = await worker.invoke(event)
        if worker.alive:
            self._give(worker)
        else:
            self._drop(worker)
            self._grow(at_least=1)
        return answer

    def _drop(self, worker: Worker) -> None:
        worker.kill()
        self._workers.discard(worker)
        self._changed()

    def _in_background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
