"""The workers of a Dask cluster, on one machine or many, as an executor for ``dale.minimize``.

Dask itself executes a task at least once: again if its worker dies, and again if a computed value is lost with its
worker before the client has fetched it. Here an evaluation is executed at most once:

1. Before a worker starts an evaluation, it registers a claim with the scheduler. It starts only if there was no earlier
   claim; otherwise it returns the name of the claimant. So Dask may move what has not started to another worker, and
   nothing starts twice.
2. When the evaluation completes, the worker stores the answer on the scheduler, before it starts anything else that
   might kill it.
3. An evaluation whose claimant is no longer a worker of the cluster is over, also if no other worker is left to say so.

The settings of the scheduler, which other users may share, are not changed.

The claims and answers of a run, and the objective, which each worker process fetches once, are metadata of a task that
does nothing: the anchor of the run. The scheduler drops them with the anchor when the run ends or the client
disconnects. After that, no claim is granted.
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
WORKER_COUNT_TTL = 1.0  # seconds until the number of threads is requested again
CLAIMANT_INTERVAL = 2.0  # seconds between two checks whether the claimant of an evaluation is still there
SCHEDULER_TIMEOUT = 10.0  # seconds for a reply; after that the run continues with what it knows
ANCHOR_DELAY = 2.0  # seconds that an anchor is kept after a cancellation, for workers about to claim the task
CLOSED_BY_REQUEST = "worker-close"  # the reason in the log of the scheduler if a cluster of threads closes a worker
CACHED_OBJECTIVES = 2  # per worker process


def executor(client: Client | str) -> DaskExecutor:
    """The workers of a Dask cluster, for ``dale.minimize(..., executor=...)``.

    dale keeps as many trials pending as the cluster currently has threads. Each evaluation is executed at most once; if
    its worker dies, only this trial fails. Scheduler and workers need the same version of dale.

    Args:
        client: A ``distributed.Client``, which is never closed; or the address of a scheduler, for which a client is
            created that ``shutdown`` or the end of a ``with`` block closes.

    Returns:
        A ``concurrent.futures.Executor``.

    Raises:
        ConnectionError: There is no scheduler at the address, or the client is not connected.

    Examples:
        >>> import dale
        >>> from dale.integrations.dask import executor
        >>> from distributed import Client
        >>> with Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as client:
        ...     dale.minimize(lambda x: x[0] ** 2, [(-1, 1)], budget=4, executor=executor(client)).nfev
        4
    """
    if isinstance(client, str):
        return DaskExecutor(_connect(client), owns_client=True)
    if not isinstance(client, Client):
        raise TypeError(
            "client must be a distributed.Client or the address of a scheduler, such as 'tcp://10.0.0.1:8786', got "
            f"{client!r}; for a cluster pass cluster.get_client()"
        )
    if client.asynchronous or getattr(client, "_asynchronous", False):
        raise TypeError(
            f"expected a synchronous client, got {client!r}; create one without asynchronous=True, or pass the address "
            "of the scheduler"
        )
    if client.status != "running":
        raise ConnectionError(
            f"expected a connected client, got {client!r}, which is {client.status}; create a new one"
        )
    return DaskExecutor(client)


class WorkerDied(RuntimeError):
    """The worker died during the evaluation. The point may be the cause, so it is not retried."""


class DaskExecutor(Cluster):
    """What ``executor`` returns.

    Args:
        client: A synchronous, connected client.
        owns_client: Whether ``shutdown`` closes it.
    """

    def __init__(self, client: Client, owns_client: bool = False) -> None:
        self._client = client
        self._owns_client = owns_client
        self._is_shut = False
        self._pending: set[Future[Any]] = set()  # futures that are not done, and that ``cancel`` was not called for
        self._anchors: WeakKeyDictionary[Callable[..., Any], Any] = WeakKeyDictionary()
        self._n_threads, self._counted = 1, -WORKER_COUNT_TTL

    @property
    def n_workers(self) -> int:
        """Current number of threads of the cluster; at least 1, because some clusters grow only when they have work."""
        return max(self._count(), 1)

    @property
    def has_workers(self) -> bool:
        """Whether the cluster currently has a worker."""
        return self._count() > 0

    def _count(self) -> int:
        if monotonic() - self._counted >= WORKER_COUNT_TTL and self._client.status == "running":
            try:
                threads = self._client.sync(
                    self._client.scheduler.ncores, workers=None, callback_timeout=SCHEDULER_TIMEOUT
                )
                self._n_threads = sum(threads.values())
            except (OSError, AttributeError):  # AttributeError: the client is closed
                pass  # if the scheduler is lost, the futures report it
            self._counted = monotonic()
        return self._n_threads

    def pickling_error(self, value: Any) -> str | None:
        """Why a value cannot be sent to a worker; None if it can."""
        try:
            dumps(value)
        except Exception as error:  # the methods of the value may raise anything
            return f"{type(error).__name__}: {error}"
        return None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call to the cluster. ``fn`` is sent with its first call, and kept there while it exists here."""
        if self._is_shut:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if self._client.status != "running":
            raise _connection_lost(self._client)
        try:
            anchor = self._anchor(fn)
            call = _Once(anchor.key, dumps((args, kwargs)))
            remote = self._client.submit(call, key=f"dale-{uuid4().hex}", pure=False, retries=0)
        except OSError as error:
            raise _connection_lost(self._client, error) from error
        future = _ClusterFuture(self._client, anchor, remote, self._pending)
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        self._client.loop.add_callback(_deliver, self._client, anchor.key, remote, future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more calls, and close the client unless it belongs to the user.

        Args:
            wait: Whether to wait for pending calls, except those that ``cancel`` was called for.
            cancel_futures: Whether to cancel the calls that have not started.
        """
        self._is_shut = True
        if cancel_futures:
            for future in self._pending.copy():
                future.cancel()
        if wait:
            wait_for(self._pending.copy())
        if self._owns_client:
            self._client.close()

    def _anchor(self, fn: Callable[..., Any]) -> Any:
        """The anchor with this function in its metadata, as a future of Dask."""
        anchor = self._anchors.get(fn)
        if anchor is None or anchor.status == "cancelled":
            anchor = self._client.submit(_do_nothing, key=f"dale-anchor-{uuid4().hex}", pure=False)
            self._client.set_metadata([anchor.key], {OPEN: True, OBJECTIVE: dumps(fn)})
            self._anchors[fn] = anchor
        return anchor


class _ClusterFuture(Future[Any]):
    """A call on the cluster. It can be cancelled until a worker has claimed it."""

    def __init__(self, client: Client, anchor: Any, remote: Any, pending: set[Future[Any]]) -> None:
        super().__init__()
        self._client = client
        self._anchor = anchor
        self._remote = remote
        self._pending = pending

    def cancel(self) -> bool:
        """Cancel the call unless it has started; return whether it was cancelled. ``shutdown`` does not wait for it."""
        self._pending.discard(self)
        if not self.done() and not self._claim():
            return False
        was_cancelled = super().cancel()  # before Dask reports the cancellation as one by somebody else
        if self._client.status == "running":
            self._client.cancel([self._remote])
            self._client.loop.add_callback(self._client.loop.call_later, ANCHOR_DELAY, id, self._anchor)
        return was_cancelled

    def _claim(self) -> bool:
        me, keys = uuid4().hex, (self._anchor.key, self._remote.key)
        try:
            return bool(
                self._client.sync(_claim, self._client.scheduler, *keys, me, callback_timeout=SCHEDULER_TIMEOUT) == me
            )
        except (OSError, AttributeError):  # AttributeError: the client is closed
            return False


# The following runs on the workers.


@dataclass(frozen=True)
class _Once:
    """A call that at most one worker executes."""

    anchor: str
    arguments: bytes  # pickled, so that the scheduler, which inspects calls, need not know their types

    def __call__(self) -> _Answer:
        worker = get_worker()
        try:
            fn, (args, kwargs) = _objective(self.anchor), loads(self.arguments)
        except Exception:
            raise  # Dask reports it
        except BaseException as error:  # SystemExit of a module that is imported: Dask would report nothing
            raise ImportError(f"loading the objective raised {error!r}") from error
        me, key = f"{worker.address} {uuid4().hex}", worker.get_current_task()
        first = sync(worker.loop, _claim, worker.scheduler, self.anchor, key, me)
        if first != me:
            return _Answer(claimed_by=first)
        try:
            answer = _Answer(fn(*args, **kwargs))
        except BaseException as error:  # SystemExit would end the worker, and Dask would report nothing
            answer = _Answer(error=error)
        try:
            sent = dumps(answer)
        except BaseException as error:  # the methods of the value may raise anything
            what = f"cannot be pickled and sent back: {type(error).__name__}: {error}"
            answer = _Answer(error=TypeError(f"what was {'returned' if answer.error is None else 'raised'} {what}"))
            sent = dumps(answer)
        sync(worker.loop, worker.scheduler.set_metadata, keys=[self.anchor, ANSWERS, key], value=sent)
        return answer


@dataclass(frozen=True)
class _Answer:
    """The answer of a worker: a value, an exception, or the earlier claimant of the call."""

    value: Any = None
    error: BaseException | None = None
    claimed_by: str | None = None


@lru_cache(CACHED_OBJECTIVES)
def _objective(anchor: str) -> Callable[..., Any]:
    worker = get_worker()
    return loads(sync(worker.loop, worker.scheduler.get_metadata, keys=[anchor, OBJECTIVE]))


def _do_nothing() -> None:
    pass


# The following runs in the event loops of the workers and the client.


async def _claim(scheduler: Any, anchor: str, key: str, who: str) -> str:
    """Claim a task, and return the first claimant: mappings keep their order. Workers begin with their address."""
    await scheduler.set_metadata(keys=[anchor, CLAIMS, key, who], value=True)
    _, claims = await asyncio.gather(
        scheduler.get_metadata(keys=[anchor, OPEN]),  # raises if the anchor, and with it earlier claims, is gone
        scheduler.get_metadata(keys=[anchor, CLAIMS, key]),
    )
    return next(iter(claims))


async def _deliver(client: Client, anchor: str, remote: Any, future: Future[Any]) -> None:
    """Wait for a task, and pass its answer to the future."""
    answer = await _answer_or_error(client, anchor, remote)
    remote.release()
    if not future.set_running_or_notify_cancel():
        return
    if answer.error is not None:
        future.set_exception(answer.error)
    else:
        future.set_result(answer.value)


async def _answer_or_error(client: Client, anchor: str, remote: Any) -> _Answer:
    try:
        return await _answer(client, anchor, remote)
    except (CancelledError, asyncio.CancelledError):
        if client.status == "running":
            return _Answer(error=Retry("somebody else cancelled the evaluation on the cluster"))
        return _Answer(error=_connection_lost(client))
    except OSError as error:
        return _Answer(error=_connection_lost(client, error))
    except Exception as error:  # raised by Dask: the objective was not called
        text = "".join(traceback.format_exception_only(error)).strip()
        return _Answer(
            error=BrokenExecutor(
                f"Dask could not execute the evaluation: {text}; check that scheduler, workers and this process have "
                "the same versions of Python, Dask and dale, and that the workers can import the objective's modules"
            )
        )


async def _answer(client: Client, anchor: str, remote: Any) -> _Answer:
    """Wait for a task, and return its answer, also if its worker died."""
    try:
        gathering = asyncio.ensure_future(client.gather(remote, asynchronous=True))
        while not (await asyncio.wait([gathering], timeout=CLAIMANT_INTERVAL))[0]:
            lost = await _lost_claimant(client, anchor, remote.key)
            if lost is not None:
                gathering.cancel()
                return await _stored_answer(client, anchor, remote.key, lost)
        answer: _Answer = await gathering
        claimed_by = answer.claimed_by
    except KilledWorker as error:  # the task has lost more workers than the scheduler allows
        claims = await client.scheduler.get_metadata(keys=[anchor, CLAIMS, remote.key], default={})
        if not claims:
            return _Answer(error=Retry(f"the worker {error.last_worker.address} died before it started the evaluation"))
        claimed_by = next(iter(claims))
    return answer if claimed_by is None else await _stored_answer(client, anchor, remote.key, claimed_by.split()[0])


async def _lost_claimant(client: Client, anchor: str, key: str) -> str | None:
    """The address of the worker that has claimed a task, if it is no longer there."""
    claims = await client.scheduler.get_metadata(keys=[anchor, CLAIMS, key], default={})
    address, of_a_worker, _ = next(iter(claims), "").partition(" ")
    return address if of_a_worker and address not in await client.scheduler.ncores(workers=None) else None


async def _stored_answer(client: Client, anchor: str, key: str, address: str) -> _Answer:
    """The answer that a lost worker stored on the scheduler, or the reason why there is none."""
    sent = await client.scheduler.get_metadata(keys=[anchor, ANSWERS, key], default=None)
    if sent is not None:
        return loads(sent)
    events = await client.scheduler.events(topic=address)
    if any(note.get("expected") or note.get("reason") == CLOSED_BY_REQUEST for _, note in events):
        return _Answer(error=Retry(f"the worker {address} was asked to leave during the evaluation"))
    return _Answer(
        error=WorkerDied(
            f"the worker {address} died or lost its connection during the evaluation; see its log and the system log "
            "for the reason (out of memory, a time limit, a crash)"
        )
    )


# The following runs in the process of the user.


def _connect(address: str) -> Client:
    try:
        resolve_address(address)  # a client with an invalid address would take a minute to fail
        return Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {address!r} ({error}); `dask scheduler` starts one and prints its address"
        ) from error


def _connection_lost(client: Client, error: Exception | None = None) -> BrokenExecutor:
    return BrokenExecutor(f"the Dask scheduler cannot be reached: {error or f'the client is {client.status}'}")
