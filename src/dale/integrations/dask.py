"""Dask's workers, on one machine or many, as an executor for ``dale.minimize``.

Dask by itself executes a task at least once: again if its worker died, and again if a finished value went down with
its worker before anybody had fetched it. Here an evaluation is executed at most once. Before it begins, its worker
enters a claim at the scheduler, and begins only if no claim was there before. So Dask is free to move what has not
begun; what had begun is not begun again, and whoever is to do so says whose claim was in the way. What has ended leaves
its answer at the scheduler too, before its worker begins anything else that might kill it. The settings of the
scheduler, which are everyone's, stay as they are.

Claims and answers of a run are metadata of a task that does nothing, its anchor, and so is the objective, which each
process of a worker fetches once. The scheduler drops them with the anchor, when the run has ended or the client has
gone; then no claim is granted any more.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from functools import lru_cache
from time import monotonic
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from dale.errors import Retry
from dale.evaluate.executor import Cluster

try:
    from distributed import Client, get_worker
    from distributed.comm import resolve_address
    from distributed.protocol.pickle import dumps, loads
    from distributed.scheduler import KilledWorker
    from distributed.utils import sync
except ImportError as error:
    raise ImportError(f"dale.integrations.dask needs Dask ({error}): pip install 'dale[dask]'") from error

OPEN, OBJECTIVE, CLAIMS, ANSWERS = "open", "objective", "claims", "answers"  # in the metadata of an anchor
FRESH = 1.0  # seconds for which the number of threads is taken as known
ANSWER = 10.0  # seconds for the scheduler to answer; then the run goes on with what it knows
LINGER = 2.0  # seconds that an anchor stays after a cancellation, for workers that are about to claim the task
LOADED = 2  # objectives that the process of a worker keeps


def executor(client: Client | str) -> DaskExecutor:
    """The workers of a Dask cluster, for ``dale.minimize(..., executor=...)``.

    As many trials are kept on their way as the cluster has threads at the time. Each evaluation is executed at most
    once: one whose worker dies fails its trial, and no other. Scheduler and workers need dale in the same version.

    Args:
        client: A ``distributed.Client``, which stays yours and is never closed; or the address of a scheduler. To that
            a client is made, which ``shutdown``, or the end of a ``with`` block, closes.

    Returns:
        A ``concurrent.futures.Executor``.

    Raises:
        ConnectionError: There is no scheduler, or it is gone.
    """
    if isinstance(client, str):
        return DaskExecutor(_connect(client), is_ours=True)
    if not isinstance(client, Client):
        raise TypeError(
            "client must be a distributed.Client or the address of a scheduler, such as 'tcp://10.0.0.1:8786', got "
            f"{client!r}; of a cluster it is cluster.get_client()"
        )
    if client.asynchronous or getattr(client, "_asynchronous", False):
        raise TypeError(
            f"got the asynchronous client {client!r}, but dale.minimize waits for its evaluations; make one without "
            "asynchronous=True, or give the scheduler's address"
        )
    if client.status != "running":
        raise ConnectionError(f"the client {client!r} is {client.status}; make a new one")
    return DaskExecutor(client)


class WorkerDied(RuntimeError):
    """The worker of an evaluation died while it was evaluated. It may be the point's fault, so it is not repeated."""


class DaskExecutor(Cluster):
    """See ``executor``, which makes it.

    Args:
        client: A synchronous client that is connected.
        is_ours: Whether ``shutdown`` closes it.
    """

    def __init__(self, client: Client, is_ours: bool = False) -> None:
        self._client = client
        self._is_ours = is_ours
        self._is_shut = False
        self._wanted: set[Future[Any]] = set()  # neither done nor taken back
        self._anchors: WeakKeyDictionary[Callable[..., Any], Any] = WeakKeyDictionary()
        self._n_workers, self._counted = 1, -FRESH

    @property
    def n_workers(self) -> int:
        """How many threads the cluster has now; at least 1, for some clusters begin to grow when they have work."""
        if monotonic() - self._counted >= FRESH and self._client.status == "running":
            try:
                threads = self._client.sync(self._client.scheduler.ncores, workers=None, callback_timeout=ANSWER)
                self._n_workers = max(sum(threads.values()), 1)
            except (OSError, AttributeError):  # the latter where the client is closed
                pass  # if the scheduler is gone, the futures will tell
            self._counted = monotonic()
        return self._n_workers

    def pickling_error(self, thing: Any) -> str | None:
        """Why something cannot be sent to a worker; None if it can."""
        try:
            dumps(thing)
        except Exception as error:  # whatever its own methods raise
            return f"{type(error).__name__}: {error}"
        return None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Send a call to the cluster; ``fn`` itself is sent when it is seen first, and kept there as long as here."""
        if self._is_shut:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if self._client.status != "running":
            raise _gone(self._client)
        try:
            anchor = self._anchor(fn)
            call = _Once(anchor.key, dumps((args, kwargs)))
            remote = self._client.submit(call, key=f"dale-{uuid4().hex}", pure=False, retries=0)
        except OSError as error:
            raise _gone(self._client, error) from error
        future = _Evaluation(self._client, anchor, remote, self._wanted)
        self._wanted.add(future)
        future.add_done_callback(self._wanted.discard)
        self._client.loop.add_callback(_bring, self._client, anchor.key, remote, future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, and close the client if it is not the user's.

        Args:
            wait: Whether to wait for what is on its way. What was to be cancelled but had begun is not waited for.
            cancel_futures: Whether to cancel what has not begun.
        """
        self._is_shut = True
        if cancel_futures:
            for future in self._wanted.copy():
                future.cancel()
        if wait:
            wait_for(self._wanted.copy())
        if self._is_ours:
            self._client.close()

    def _anchor(self, fn: Callable[..., Any]) -> Any:
        """The future of a task that has this function in its metadata."""
        anchor = self._anchors.get(fn)
        if anchor is None or anchor.status == "cancelled":
            anchor = self._client.submit(_nothing, key=f"dale-anchor-{uuid4().hex}", pure=False)
            self._client.set_metadata([anchor.key], {OPEN: True, OBJECTIVE: dumps(fn)})
            self._anchors[fn] = anchor
        return anchor


class _Evaluation(Future[Any]):
    """A call on the cluster. It can be cancelled as long as no worker has claimed it."""

    def __init__(self, client: Client, anchor: Any, remote: Any, wanted: set[Future[Any]]) -> None:
        super().__init__()
        self._client = client
        self._anchor = anchor
        self._remote = remote
        self._wanted = wanted

    def cancel(self) -> bool:
        """Take it back if it has not begun, and say whether that is so. If it has, it is not wanted any more."""
        self._wanted.discard(self)
        if not self.done() and not self._claim():
            return False
        was_cancelled = super().cancel()  # before the cluster says that somebody has cancelled it
        if self._client.status == "running":
            self._client.cancel([self._remote])
            self._client.loop.add_callback(self._client.loop.call_later, LINGER, id, self._anchor)
        return was_cancelled

    def _claim(self) -> bool:
        me, keys = uuid4().hex, (self._anchor.key, self._remote.key)
        try:
            return bool(self._client.sync(_claim, self._client.scheduler, *keys, me, callback_timeout=ANSWER) == me)
        except (OSError, AttributeError):  # the latter where the client is closed
            return False


# What follows runs on the workers.


@dataclass(frozen=True)
class _Once:
    """A call that no second worker executes."""

    anchor: str
    arguments: bytes  # pickled: the scheduler, which looks into calls, needs not know their types

    def __call__(self) -> _Answer:
        worker = get_worker()
        fn, (args, kwargs) = _objective(self.anchor), loads(self.arguments)
        me, key = f"{worker.address} {uuid4().hex}", worker.get_current_task()
        first = sync(worker.loop, _claim, worker.scheduler, self.anchor, key, me)
        if first != me:
            return _Answer(claimed_by=first)
        try:
            answer = _Answer(fn(*args, **kwargs))
        except SystemExit as error:  # it would end the worker, and with it what others run there
            answer = _Answer(error=RuntimeError(f"the objective called sys.exit({error.code!r})"))
        except Exception as error:
            answer = _Answer(error=error)
        try:
            sent = dumps(answer)
        except Exception as error:  # whatever its own methods raise
            what = f"cannot be pickled and sent back: {type(error).__name__}: {error}"
            answer = _Answer(error=TypeError(f"what was {'returned' if answer.error is None else 'raised'} {what}"))
            sent = dumps(answer)
        sync(worker.loop, worker.scheduler.set_metadata, keys=[self.anchor, ANSWERS, key], value=sent)
        return answer


@dataclass(frozen=True)
class _Answer:
    """What came of a call: a value, what it raised, or who had claimed it before."""

    value: Any = None
    error: Exception | None = None
    claimed_by: str | None = None


@lru_cache(LOADED)
def _objective(anchor: str) -> Callable[..., Any]:
    worker = get_worker()
    return loads(sync(worker.loop, worker.scheduler.get_metadata, keys=[anchor, OBJECTIVE]))


def _nothing() -> None:
    pass


# What follows runs in the event loops of workers and client.


async def _claim(scheduler: Any, anchor: str, key: str, who: str) -> str:
    """Claim a task, and return who has done so first: a mapping keeps its order. Workers begin with their address."""
    await scheduler.set_metadata(keys=[anchor, CLAIMS, key, who], value=True)
    _, claims = await asyncio.gather(
        scheduler.get_metadata(keys=[anchor, OPEN]),  # an error where the anchor is gone, and with it earlier claims
        scheduler.get_metadata(keys=[anchor, CLAIMS, key]),
    )
    return next(iter(claims))


async def _bring(client: Client, anchor: str, remote: Any, future: Future[Any]) -> None:
    """Wait for a task, and hand on what came of it."""
    answer = await _answer_or_why_not(client, anchor, remote)
    remote.release()
    if not future.set_running_or_notify_cancel():
        return
    if answer.error is not None:
        future.set_exception(answer.error)
    else:
        future.set_result(answer.value)


async def _answer_or_why_not(client: Client, anchor: str, remote: Any) -> _Answer:
    try:
        return await _answer(client, anchor, remote)
    except (CancelledError, asyncio.CancelledError):
        if client.status == "running":
            return _Answer(error=Retry("the evaluation was cancelled on the cluster by someone else"))
        return _Answer(error=_gone(client))
    except OSError as error:
        return _Answer(error=_gone(client, error))
    except Exception as error:  # not the objective's, which was not even called
        text = "".join(traceback.format_exception_only(error)).strip()
        return _Answer(
            error=BrokenExecutor(
                f"Dask could not execute the evaluation: {text}; see that the scheduler, the workers and this process "
                "have the same versions of Python, Dask and dale, and the workers the modules of the objective"
            )
        )


async def _answer(client: Client, anchor: str, remote: Any) -> _Answer:
    """What came of a task, once it has ended, also by the death of its worker."""
    try:
        answer: _Answer = await client.gather(remote, asynchronous=True)
        claimed_by = answer.claimed_by
    except KilledWorker as error:  # where the scheduler allows fewer failures than by default
        claims = await client.scheduler.get_metadata(keys=[anchor, CLAIMS, remote.key], default={})
        if not claims:
            return _Answer(error=Retry(f"the worker {error.last_worker.address} died before it began this evaluation"))
        claimed_by = next(iter(claims))
    return answer if claimed_by is None else await _left(client, anchor, remote.key, claimed_by.split()[0])


async def _left(client: Client, anchor: str, key: str, address: str) -> _Answer:
    """The answer of a worker that has gone, or why it left none."""
    sent = await client.scheduler.get_metadata(keys=[anchor, ANSWERS, key], default=None)
    if sent is not None:
        return loads(sent)
    events = await client.scheduler.events(topic=address)
    if any(note.get("action") == "remove-worker" and note.get("expected") for _, note in events):
        return _Answer(error=Retry(f"the worker {address} was told to leave while it evaluated this point"))
    return _Answer(
        error=WorkerDied(
            f"the worker {address} died, or lost its connection, while it evaluated this point; its log and the "
            "system's tell more (out of memory, a time limit, a crash)"
        )
    )


# What follows runs in the process of the user.


def _connect(address: str) -> Client:
    try:
        resolve_address(address)  # a client of an address that makes no sense takes a minute to go
        return Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {address!r} ({error}); `dask scheduler` starts one and prints its address"
        ) from error


def _gone(client: Client, error: Exception | None = None) -> BrokenExecutor:
    return BrokenExecutor(f"the Dask scheduler cannot be reached: {error or f'the client is {client.status}'}")
