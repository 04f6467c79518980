"""Counting and predicting on the machines of a Ray cluster.

    blocks ──► counts in parts, by feature ──► parts of the same number added up, as a tree ──► one classifier
    blocks, and the classifier sent once to each machine ──► a folder of tables

The work on a block is a pure function: if a machine is lost, another one does its blocks again, with the same result.
This process takes the result of each block once.  Integers add up in any order, so the counts have the same bits for
any number of blocks, parts and workers.  docs/decisions/008
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from typing import Any, NamedTuple

from bunrui.documents import read
from bunrui.engines import tasks
from bunrui.engines.partitions import add_part, add_up
from bunrui.engines.pieces import Block, split
from bunrui.engines.tasks import Answers, Done, Folder, Labels, blank, copy_of
from bunrui.errors import BunruiError, DataError, MissingExtraError, Option, OptionError

_RETRIES = 5  # of a block whose worker or machine is lost; an error in the data is final
_MOST_PARTS = 64
_AHEAD = 2  # blocks under way for each worker
_ADDED = 8  # parts that are added up at once
_CALLS = 60  # to a task that should end, one each second
_PATIENCE = 10.0  # seconds

Tell = Callable[[Done], None]


class Counted(NamedTuple):
    """The numbers of documents that were counted, of blocks and of workers."""

    n_docs: int
    n_blocks: int
    n_workers: int

    def note(self) -> dict[str, Any]:
        """For the list of changes of a file."""
        return {"engine": "ray", "workers": self.n_workers, "blocks": self.n_blocks}


def connect(address: str | None = None) -> Any:
    """Ray, connected to the cluster at an address.

    Without an address: the cluster of RAY_ADDRESS, or one that runs on this machine; else one is started for this
    process.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("ray", "ray", "the engine 'ray' needs") from error
    if ray.is_initialized():
        return ray
    shown = address or os.environ.get("RAY_ADDRESS", "")
    try:
        _knock(shown)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
    except (OSError, ValueError) as error:
        raise OptionError(
            f"there is no Ray cluster at {shown!r} ({_first_line(error)})",
            option="address",
            hint=("start one with 'ray start --head', or leave ", Option("address"), " out to use this machine alone"),
        ) from error
    return ray


def _knock(address: str) -> None:
    """Raise the error of a port that nobody listens to: Ray itself asks it for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()


def _n_workers(ray: Any) -> int:
    n_workers = int(ray.cluster_resources().get("CPU", 0))
    if not n_workers:
        raise OptionError("the Ray cluster has no CPUs: add machines to it")
    return n_workers


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


# --- learning


def learn(classifier: Any, data: Any, *, address: str | None = None, **reading: Any) -> Any:
    """Learn documents on a cluster, all or none of them.

    Parameters
    ----------
    classifier : TextClassifier or StoredClassifier
        A file must be one that keeps nothing of its documents.
    data : ray.data.Dataset, or what `bunrui.documents.read` takes
        A data set with the columns text and label; or files, such as `"s3://bucket/*.parquet"`, that all machines of
        the cluster see.
    address : str, optional
        The address of the cluster; by default the one on this machine, which is started if there is none.
    **reading
        Options of `bunrui.documents.read`, for files.

    Returns
    -------
    TextClassifier or StoredClassifier
        The classifier.  Its scores are the same to the last bit as if one process had learned the documents.
    """
    keep = getattr(classifier, "keep", "nothing")  # of one in a file
    if keep != "nothing":
        raise OptionError(
            f"{classifier.path} keeps {keep} of every document, and on a cluster they stay where they are",
            option="keep",
            hint=("learn into a file with ", Option("keep", "nothing")),
        )
    counted = _make_blank(classifier)
    count(counted, data if _is_dataset(data) else read(data, **reading), address=address)
    return classifier.merge(counted)


def count(
    into: Any, data: Any, *, address: str | None = None, tell: Tell | None = None, block_bytes: int = 64 << 20
) -> Counted:
    """Count documents on a cluster, and add the counts to those of a new classifier in memory.

    Parameters
    ----------
    into : TextClassifier
    data : ray.data.Dataset or bunrui.documents.Reader
    address : str, optional
    tell : callable, optional
        Called with `Done` for every block that is done.
    block_bytes : int
        About the size of a block, of files.
    """
    blocks = _block_refs(data) if _is_dataset(data) else split(data, block_bytes)  # its errors come before the cluster
    ray = connect(address)
    n_workers = _n_workers(ray)
    n_parts = min(n_workers, _MOST_PARTS)
    task = ray.remote(num_cpus=1, max_retries=_RETRIES, num_returns=1 + n_parts)(tasks.count_block)
    shared = [ray.put(into)]
    tree = Tree(ray.remote(num_cpus=1, max_retries=_RETRIES)(add_up).remote)
    n_docs = n_blocks = 0
    for refs in _complete(ray, (task.remote(shared, block, n_parts) for block in blocks), _AHEAD * n_workers):
        done: Done = _get(ray, refs[0])
        tree.add(refs[1:])
        n_docs, n_blocks = n_docs + done.n_docs, n_blocks + 1
        if tell is not None:
            tell(done)
    if not n_docs:
        raise DataError("there are no documents to be read: nothing was changed")
    parts = tree.total()
    while parts:  # one after the other: they are large
        add_part(into.counts, _get(ray, parts.pop()))
    return Counted(n_docs, n_blocks, n_workers)


class Tree:
    """Parts of blocks; those with the same number are added up in groups as they come, and groups of groups likewise.

    >>> tree = Tree(lambda *parts: sum(parts))
    >>> for number in range(100):
    ...     tree.add([number, 1])
    >>> tree.total()
    [4950, 100]
    """

    def __init__(self, merge: Callable[..., Any]) -> None:
        self._merge = merge
        self._levels: list[list[list[Any]]] = []

    def add(self, parts: list[Any], level: int = 0) -> None:
        """The parts of one more block."""
        if level == len(self._levels):
            self._levels.append([])
        group = self._levels[level]
        group.append(parts)
        if len(group) == _ADDED:
            self._levels[level] = []
            self.add(self._merge_group(group), level + 1)

    def total(self) -> list[Any]:
        """The sums of all."""
        rest = [parts for level in self._levels for parts in level]
        while len(rest) > 1:
            rest = [self._merge_group(rest[start : start + _ADDED]) for start in range(0, len(rest), _ADDED)]
        return rest[0]

    def _merge_group(self, group: list[list[Any]]) -> list[Any]:
        if len(group) == 1:
            return group[0]
        return [self._merge(*same) for same in zip(*group, strict=True)]


# --- predicting


def predict(
    classifier: Any, data: Any, output: str | None = None, *, address: str | None = None, **reading: Any
) -> Any:
    """Predict the labels of documents on a cluster.

    Parameters
    ----------
    classifier : TextClassifier or StoredClassifier
    data : ray.data.Dataset, or what `bunrui.documents.read` takes
        A data set with the column text, or files that all machines of the cluster see.
    output : str, optional
        For files: a folder, or its address, that all machines see; it is made.
    address : str, optional
        The address of the cluster; by default the one on this machine, which is started if there is none.
    **reading
        Options of `bunrui.documents.read`, for files.

    Returns
    -------
    ray.data.Dataset or None
        The data set with the columns predicted and probability.  For files nothing: the folder has Parquet files in the
        order of the documents, with the columns source, line, id, label and probability.
    """
    if _is_dataset(data):
        shared = [connect(address).put((_to_memory(classifier), Labels))]
        return data.map_batches(tasks.predict_table, batch_format="pyarrow", fn_kwargs={"shared": shared})
    if output is None:
        raise OptionError(("predict needs ", Option("output", ...), ", a folder for the labels of files"))
    predict_blocks(classifier, split(read(data, labelled=False, **reading)), output, address=address)
    return None


def predict_blocks(
    classifier: Any,
    blocks: Iterable[Block],
    output: str,
    answers: Callable[[Any], Answers] = Labels,
    *,
    address: str | None = None,
    tell: Tell | None = None,
) -> int:
    """Predict blocks into the Parquet files of a folder; return the number of documents.

    `answers` makes the function that writes the answers of a classifier; it runs on the workers.
    """
    sent = _to_memory(classifier)
    folder = Folder.new(output)
    ray = connect(address)
    shared = [ray.put((sent, answers))]
    task = ray.remote(num_cpus=1, max_retries=_RETRIES)(tasks.predict_block)
    begun = ([task.remote(shared, block, folder, number)] for number, block in enumerate(blocks))
    n_docs = 0
    try:
        with closing(_complete(ray, begun, _AHEAD * _n_workers(ray))) as completed:
            for (ref,) in completed:
                done: Done = _get(ray, ref)
                n_docs += done.n_docs
                if tell is not None:
                    tell(done)
    except BaseException:
        with suppress(DataError):  # the first error says more
            folder.clear()
        raise
    folder.finish()
    if not n_docs:
        raise DataError("there are no documents to be read: nothing was predicted")
    return n_docs


# --- the cluster


def _make_blank(classifier: Any) -> Any:
    """A classifier in memory with the same options, if it can be sent."""
    if classifier.needs_documents:
        raise OptionError(
            f"{classifier.model} is trained from documents, which are not kept where they are counted: choose a model "
            "that reads counts, such as multinomial"
        )
    return blank(classifier)


def _to_memory(classifier: Any) -> Any:
    """The classifier as it can be sent; one in a file cannot."""
    is_in_memory = type(classifier) is type(_make_blank(classifier.with_model()))
    return classifier if is_in_memory else copy_of(classifier)


def _complete(ray: Any, begun: Iterator[list[Any]], most: int) -> Generator[list[Any]]:
    """The results of tasks as they are done, at most `most` of them under way; `begun` begins one at each step."""
    pending: dict[Any, list[Any]] = {}
    try:
        for refs in begun:
            pending[refs[0]] = refs
            if len(pending) >= most:
                yield pending.pop(_wait_first(ray, pending))
        while pending:
            yield pending.pop(_wait_first(ray, pending))
    finally:
        with suppress(Exception):  # the caller that stops has a better reason
            _call_off(ray, list(pending))


def _call_off(ray: Any, refs: list[Any]) -> None:
    """End the tasks, and wait for their ends: one that has begun may write a file yet."""
    # Again and again: Ray loses the call for a task that a worker has just been given, and says nothing.
    for _ in range(_CALLS):
        if not refs:
            return
        for ref in refs:
            # By force: one that is interrupted in the middle of an import would go on with half a module.
            ray.cancel(ref, force=True)
        _, refs = ray.wait(refs, num_returns=len(refs), timeout=1.0)


def _wait_first(ray: Any, pending: dict[Any, Any]) -> Any:
    ready, _ = ray.wait(list(pending), num_returns=1)
    return ready[0]


def _get(ray: Any, ref: Any) -> Any:
    """A result; an error that a worker met is raised."""
    try:
        result = ray.get(ref)
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)
        if isinstance(error, ray.exceptions.RayTaskError) and not isinstance(cause, ray.exceptions.RayError):
            raise  # a mistake in the code, whose traceback is in it
        raise BunruiError(
            f"the cluster could not do a block, however often it tried: {_first_line(error)}. Look for what ended its "
            "workers, often a lack of memory"
        ) from error
    if isinstance(result, BunruiError):
        raise result
    return result


def _is_dataset(data: Any) -> bool:
    """Tell whether this is a data set of Ray; if nobody has imported `ray.data`, it is not."""
    module = sys.modules.get("ray.data")
    return module is not None and isinstance(data, module.Dataset)


def _block_refs(data: Any) -> Iterator[Any]:
    """The blocks of a data set, as they are made."""
    for bundle in data.iter_internal_ref_bundles():
        yield from bundle.block_refs
