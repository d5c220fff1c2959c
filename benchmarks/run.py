"""Benchmarks: python benchmarks/run.py [NAME ...]; one JSON line each. Measure on an idle machine, with nothing else running.

Each is compared with a peer and the machine's limit in the same run, because seconds mean nothing on another machine.
"""

import json
import sys
from collections.abc import Callable
from functools import partial

import clustering
import extraction
import folder
import memory
import parts
import scaling
import selection
import svm

BENCHMARKS: dict[str, Callable[[], dict[str, object]]] = {
    "extract-200": partial(extraction.run, 200),
    "extract-1600": partial(extraction.run, 1600),
    "extract-thresholds": parts.thresholds,
    "second-order": parts.second_order,
    "rank": parts.rank,
    "encode-omp": partial(parts.sparse, "omp"),
    "encode-lasso": partial(parts.sparse, "lasso"),
    "kmeans-round": clustering.run,
    "affinity-messages": selection.messages,
    "affinity-search": selection.search,
    "affinity-memory": selection.memory,
    "covariance": selection.covariance,
    "svm": svm.run,
    "svm-3200": partial(svm.run, 800, 1, 200.0),
    "svm-wide": svm.wide,
    "svm-memory": partial(svm.memory, 50_000, 800),
    "svm-wide-memory": partial(svm.memory, 5_994, 12_800),
    "memory-transform": partial(memory.run, "transform"),
    "memory-fit": partial(memory.run, "fit"),
    "memory-cluster": memory.cluster,
    "folder": folder.run,
    "scaling": scaling.run,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        print(json.dumps(BENCHMARKS[name]()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
