"""What a fit on a cluster takes: its task graph, simulated on W workers with costs that were measured.

    start of a task     when what it needs is there, a worker is free, and the scheduler has come to it
    a pass              maps in groups; a group is sent when the results of an earlier one have been taken
    a reduction         parts of 4,096 rows on all workers, added up four at a time, one sum after the other
    a round of K-means  at most 32 tasks, then the client

The graph is that of `poolwise.engine`: groups, batches and parts have its sizes, which `tests/planning/test_scaling.py`
compares with what a cluster gets. Not in it: decoding files, the classifier, workers that wait for a shared disk.

T(W) ≥ work / W    T(W) ≥ the longest path    T(W) ≤ work / W + the longest path   (of tasks on workers alone, Graham 1969)
"""

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

SHARDS_PER_TASK, TASKS_PER_GROUP, TASKS_PER_THREAD, GROUPS_AHEAD = 8, 32, 4, 2
SAMPLES_PER_CHUNK, ROWS_PER_BLOCK, ROWS_PER_PART, PARTS_PER_STEP = 4096, 16384, 4096, 4
KMEANS_SHARDS, LEAST_ROWS_PER_SHARD, BYTES_PER_BLOCK = 32, 1024, 1 << 20
_MOST_TASKS = 60_000  # of a pass that are simulated: what more would take follows from these


@dataclass(frozen=True)
class Costs:
    """Seconds on one worker, and of what all share.

    encode : of one code at one position of an image, for each number of a patch    patch : of drawing a patch, with contrast
    white : of whitening it    assign : of a patch, a code and a number of the patch, in a round of K-means
    product : of a multiplication of the covariance    add : of a number that is added to a sum    byte : between processes
    task : of Dask's scheduler and client, for each task    own : of the worker that has it
    trip : of a task alone, there and back    select : of M³, M candidates, on the client
    """

    encode: float
    patch: float
    white: float
    assign: float
    product: float
    add: float
    task: float
    own: float
    trip: float
    byte: float
    select: float


# What `benchmarks/run.py scaling` printed on two cores of a shared machine, under the load of 6 to 10 of other programs.
MEASURED = Costs(
    encode=2.02e-11,
    patch=8.03e-7,
    white=1.52e-6,
    assign=2.32e-11,
    product=2.79e-11,
    add=1.41e-9,
    task=1.0e-3,
    own=1.5e-3,
    trip=0.0124,
    byte=2.16e-9,
    select=2.62e-9,
)


@dataclass(frozen=True)
class Work:
    """A fit of preset jia2012: patches, whitening, K-means, a pass for the covariance, selection.

    images : how many, of `pixels` numbers    positions, d : of patches in an image, numbers of each    cells : that are pooled
    """

    images: int
    codes: int = 200
    candidates: int = 1600
    patches: int = 400_000
    rounds: int = 100
    pixels: int = 32 * 32 * 3
    positions: int = 27 * 27
    d: int = 108
    cells: int = 4

    @property
    def images_per_block(self) -> int:
        """As `block_size` of the extraction: a megabyte of pixels and outputs."""
        return max(1, BYTES_PER_BLOCK // (4 * (self.pixels + 2 * self.cells * self.candidates)))


@dataclass
class Graph:
    """Tasks in the order in which they are sent; a worker takes the first that is ready, the client does its own one by one."""

    seconds: list[float] = field(default_factory=list)
    after: list[tuple[int, ...]] = field(default_factory=list)
    on_client: list[bool] = field(default_factory=list)

    def add(self, seconds: float, after: Iterable[int] = (), *, on_client: bool = False) -> int:
        """A task that needs others before it; its number."""
        self.seconds.append(seconds)
        self.after.append(tuple(after))
        self.on_client.append(on_client)
        return len(self.seconds) - 1

    @property
    def work(self) -> float:
        """Of all workers."""
        return sum(seconds for seconds, there in zip(self.seconds, self.on_client, strict=True) if not there)

    @property
    def longest_path(self) -> float:
        """Of tasks that need each other."""
        ends: list[float] = []
        for seconds, after in zip(self.seconds, self.after, strict=True):
            ends.append(seconds + max((ends[one] for one in after), default=0.0))
        return max(ends, default=0.0)


def simulate(graph: Graph, workers: int, task: float = 0.0, own: float = 0.0) -> float:
    """Seconds until all is done.

    task, own : what a task of a worker takes of the one scheduler before it starts, and of its worker besides

    >>> graph = Graph()
    >>> first = [graph.add(1.0) for _ in range(4)]
    >>> _ = graph.add(2.0, first)
    >>> simulate(graph, 1), simulate(graph, 2), simulate(graph, 4)
    (6.0, 4.0, 3.0)
    """
    missing = [len(after) for after in graph.after]
    needed: list[list[int]] = [[] for _ in missing]
    for number, after in enumerate(graph.after):
        for one in after:
            needed[one].append(number)
    queues: tuple[list[int], list[int]] = [], []  # of the workers, of the client
    for number in (number for number, count in enumerate(missing) if not count):
        heapq.heappush(queues[graph.on_client[number]], number)
    free = [workers, 1]
    running: list[tuple[float, int]] = []
    now = scheduler = 0.0
    while running or queues[0] or queues[1]:
        for place, queue in enumerate(queues):
            while queue and free[place]:
                number, start = heapq.heappop(queue), now
                if not place:
                    scheduler = max(scheduler, now) + task
                    start = scheduler + own
                free[place] -= 1
                heapq.heappush(running, (start + graph.seconds[number], number))
        now, number = heapq.heappop(running)
        free[graph.on_client[number]] += 1
        for one in needed[number]:
            missing[one] -= 1
            if not missing[one]:
                heapq.heappush(queues[graph.on_client[one]], one)
    return now


def tasks_per_group(workers: int) -> int:
    """Tasks whose results the client takes together."""
    return max(TASKS_PER_GROUP, TASKS_PER_THREAD * workers)


def shards_per_task(shards: int, workers: int) -> int:
    """Blocks of images that one task has."""
    return max(1, min(SHARDS_PER_TASK, math.ceil(shards / tasks_per_group(workers))))


def a_map(tasks: int, seconds: float, bytes_back: float, workers: int, costs: Costs) -> Graph:
    """Equal tasks in groups, whose results the client takes in their order."""
    graph, taken, size = Graph(), list[int](), tasks_per_group(workers)
    for start in range(0, tasks, size):
        before = taken[-GROUPS_AHEAD - 1 : -GROUPS_AHEAD]
        group = [graph.add(seconds, before) for _ in range(min(size, tasks - start))]
        taken.append(graph.add(len(group) * bytes_back * costs.byte, [*group, *taken[-1:]], on_client=True))
    return graph


def a_reduction(images: int, work: Work, workers: int, costs: Costs) -> Graph:
    """The pass for the covariance: rows, parts of 4,096 of them, and sums of four parts, one after the other (`Folding`)."""
    graph, M, size = Graph(), work.candidates, work.images_per_block
    shards = math.ceil(images / size)
    at_once, group = shards_per_task(shards, workers), tasks_per_group(workers) * SHARDS_PER_TASK
    encode = costs.encode * work.positions * work.candidates * work.d
    tiles = M * (M + 1) / 2  # those on and below the diagonal
    part = ROWS_PER_PART * (tiles * costs.product + 4 * M * costs.byte)
    step = 4 * PARTS_PER_STEP * tiles * costs.byte + (PARTS_PER_STEP * tiles + M * M) * costs.add
    taken, parts, state = list[int](), list[int](), list[int]()
    rows, waiting = 0, list[int]()  # that no part has yet, and the tasks that give them
    for start in range(0, shards, group):
        batches = []
        for first in range(start, min(start + group, shards), at_once):
            count = min(first + at_once, shards, start + group) * size - first * size
            batches.append((min(count, images - first * size), graph.add(0.0, taken[-2:-1])))
            graph.seconds[batches[-1][1]] = batches[-1][0] * encode
        others = [graph.add(0.0, [number]) for _, number in batches]
        for count, number in batches:
            rows, waiting = rows + count * work.cells, [*waiting, number]
            last = number == batches[-1][1] and start + group >= shards
            while rows >= ROWS_PER_PART or (last and rows > 0):
                parts.append(graph.add(part * min(1.0, rows / ROWS_PER_PART), waiting))
                rows, waiting = max(0, rows - ROWS_PER_PART), [number]
                if len(parts) == PARTS_PER_STEP or (last and not rows):
                    state, parts = [graph.add(step * len(parts) / PARTS_PER_STEP, [*state, *parts])], []
        taken.append(graph.add(0.0, [*others, *taken[-1:]], on_client=True))
    graph.add(8 * M * M * costs.byte, [*state, *taken[-1:]], on_client=True)
    return graph


def chunks_of(rows: int, size: int, workers: int) -> int:
    """Tasks that have rows in blocks of that size, several blocks each where workers are few (`HeldFutures`)."""
    blocks = math.ceil(rows / size)
    return math.ceil(blocks / max(1, blocks // (TASKS_PER_THREAD * workers)))


def predict(work: Work, workers: int, costs: Costs) -> dict[str, float]:
    """Seconds of every stage.

    >>> few, many = (predict(Work(10**5, candidates=200), workers, MEASURED)["covariance"] for workers in (1, 10))
    >>> 5 < few / many <= 10
    True
    """
    n, M = work.patches, work.candidates

    def seconds(graph: Graph) -> float:
        return simulate(graph, workers, costs.task, costs.own) + costs.trip

    chunks = math.ceil(n / SAMPLES_PER_CHUNK)
    drawn = a_map(chunks, costs.patch * n / chunks, 0.0, workers, costs)
    blocks = chunks_of(n, ROWS_PER_BLOCK, workers)
    whitened = a_map(blocks, costs.white * n / blocks, 8.0 * work.d**2, workers, costs)
    shards = chunks_of(n, max(LEAST_ROWS_PER_SHARD, math.ceil(n / KMEANS_SHARDS)), workers)
    sums = 8.0 * M * (work.d + 1) * min(KMEANS_SHARDS, math.ceil(n / LEAST_ROWS_PER_SHARD)) / shards
    a_round = a_map(shards, costs.assign * n * M * work.d / shards, sums, workers, costs)
    return {
        "patches": seconds(drawn),
        "whitening": seconds(whitened),
        "dictionary": work.rounds * seconds(a_round),
        "covariance": _of_pass(work, workers, costs) + costs.trip,
        "selection": costs.select * M**3,
    }


def _of_pass(work: Work, workers: int, costs: Costs) -> float:
    """Of all images; of more than are simulated, what the last half of these took goes on."""
    each = SHARDS_PER_TASK * work.images_per_block
    most = each * max(_MOST_TASKS, 16 * tasks_per_group(workers))
    if work.images <= most:
        return simulate(a_reduction(work.images, work, workers, costs), workers, costs.task, costs.own)
    half, whole = (simulate(a_reduction(n, work, workers, costs), workers, costs.task, costs.own) for n in (most // 2, most))
    return whole + (work.images - most) * (whole - half) / (most - most // 2)
