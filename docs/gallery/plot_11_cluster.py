"""
A cluster on this machine
=========================

Two processes of this machine do what ten machines would do: they cut patches, learn codes, encode, pool, and keep the
features. The bits are those of threads. What each process did when, and how much moved between them.
"""

# %%
# Threads, for comparison
# -----------------------
# The processes are new Pythons, which import this file. What runs once is below `if __name__ == "__main__":`.

import matplotlib.pyplot as plt
import numpy as np
from distributed import get_task_stream
from sklearn.base import clone

import poolwise
from poolwise import KMeans, LinearSVM, Pool, PooledFeatures
from poolwise.datasets import load_photos

if __name__ == "__main__":
    train, test = load_photos(subset="train"), load_photos(subset="test")
    features = PooledFeatures(48, pooling=Pool(grid=2), dictionary=KMeans(max_iter=10), n_patches=20_000, random_state=0)
    threads = clone(features).fit_transform(train.images)

# %%
# Two processes
# -------------
# `cluster("tcp://host:8786")` in place of `cluster("local:2")`, and the same lines run on any cluster of Dask. `hold` is
# `transform` without the way back: features stay on the workers as shards of rows, and `LinearSVM` learns from them
# there. They need not fit in one memory.


def left_workers(client):
    """Bytes that workers gave away so far: to each other, and to this process."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


if __name__ == "__main__":
    with poolwise.cluster("local:2") as client, get_task_stream(client) as stream:
        counts = [left_workers(client)]
        features.fit(train.images)
        counts.append(left_workers(client))
        X = features.transform(train.images)
        counts.append(left_workers(client))
        held = features.hold(train.images)
        svm = LinearSVM(gamma=0.01).fit(held, train.target)
        counts.append(left_workers(client))
        accuracy = svm.score(features.hold(test.images), test.target)

    same = np.array_equal(X, threads)
    print(f"the same bits as with threads: {same}")
    print(f"{len(held):,} rows of {held.shape[1]} features stay on the workers")
    print(f"accuracy {accuracy:.2f} on {len(test.images):,} other crops")

# %%
# Who did what, when
# ------------------
# Each bar is a task. Choosing the codes and the steps of the SVM run in this process: then both workers wait.

STAGES = {  # how the names of its tasks begin, and a colour
    "patches": (("cut", "look", "normalize", "moments", "Whitening"), "tab:olive"),
    "K-means": (("variances", "assign"), "tab:blue"),
    "encoding and pooling": (("rows", "features", "pooled"), "tab:orange"),
    "rows and sums for the SVM": (("take", "sum", "columns", "projected"), "tab:green"),
    "sending, adding up": (("",), "0.6"),
}


def stage_of(key):
    return next(stage for stage, (names, _) in STAGES.items() if str(key).startswith(names))


if __name__ == "__main__":
    workers = sorted({task["worker"] for task in stream.data})
    begin = min(step["start"] for task in stream.data for step in task["startstops"])
    fig, ax = plt.subplots(figsize=(9, 3.6))
    for stage, (_, colour) in STAGES.items():
        for row, worker in enumerate(workers):
            tasks = [task for task in stream.data if task["worker"] == worker and stage_of(task["key"]) == stage]
            steps = [step for task in tasks for step in task["startstops"] if step["action"] == "compute"]
            bars = [(step["start"] - begin, max(step["stop"] - step["start"], 0.02)) for step in steps]
            ax.broken_barh(bars, (row - 0.35, 0.7), color=colour, label=stage if row == 0 else None)
    ax.set_yticks(range(len(workers)), [f"process {row + 1}" for row in range(len(workers))])
    ax.set(xlabel="seconds", ylim=(1.5, -0.5))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.15), ncols=5, frameon=False, fontsize=8)
    fig.tight_layout()

# %%
# What moved
# ----------
# With 3,200 small crops more moves than the crops hold, and threads are faster: stay with threads while one machine is
# enough. What K-means adds up has the same size for any number of images. Features have four bytes a number and image,
# unless they are held.

if __name__ == "__main__":
    fit, transform, hold = np.diff(counts)
    sizes = {"the crops": train.images.nbytes, "their features": X.nbytes}
    moved = {"fit": int(fit), "transform": int(transform), "hold, then LinearSVM": int(hold)}
    for name, count in moved.items():
        print(f"{name:21} {count / 1e6:5.0f} MB left the workers")

    fig, ax = plt.subplots(figsize=(7, 2.4))
    shown = {**sizes, **moved}
    bars = ax.barh(list(shown), [count / 1e6 for count in shown.values()], color=["0.75"] * 2 + ["tab:blue"] * 3)
    ax.bar_label(bars, [f"{count / 1e6:.0f} MB" for count in shown.values()], padding=4)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.15 * max(shown.values()) / 1e6)
    ax.set(xlabel="MB")
    fig.tight_layout()
