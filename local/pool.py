"""Invokes functions: on a worker that is idle, and on a new one when all are busy, as Lambda does."""

import asyncio
import json
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
        self._free: asyncio.LifoQueue[Worker | Answer] = asyncio.LifoQueue()  # an answer tells of a failed start
        self._starting = 0
        self._waiting = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    @property
    def pids(self) -> list[int]:
        """The processes of the moment."""
        return sorted(worker.pid for worker in self._workers)

    async def warm(self) -> None:
        """Start the first worker; a handler that cannot be imported is an error of the stack here."""
        failure = await self._start(self._spawn())
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
        for _ in range(self._waiting):
            self._free.put_nowait(STOPPED)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self) -> Worker | Answer:
        self._waiting += 1
        try:
            while not self._closed:
                self._grow()
                free = await self._free.get()
                if isinstance(free, Answer) or free.alive:
                    return free
                self._drop(free)  # ended from outside while it was idle
            return STOPPED
        finally:
            self._waiting -= 1

    def _grow(self, at_least: int = 0) -> None:
        """Have a worker under way for each that waits, up to the cap."""
        missing = max(self._waiting - self._free.qsize() - self._starting, at_least - len(self._workers))
        room = min(MAX_WORKERS - len(self._workers), MAX_STARTING - self._starting)
        for _ in range(0 if self._closed else min(missing, room)):
            self._in_background(self._start_for_waiting(self._spawn()))

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
        self._free.put_nowait(worker)
        return None

    async def _start_for_waiting(self, worker: Worker) -> None:
        failure = await self._start(worker)
        if failure and self._waiting:
            self._free.put_nowait(failure)
        self._grow()

    async def _run(self, worker: Worker, event: bytes) -> Answer:
        answer = await worker.invoke(event)
        if worker.alive:
            self._free.put_nowait(worker)
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
