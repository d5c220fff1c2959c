"""Memory: `transform` and `fit` need no more for 40,000 images than for 10,000, beyond result and patches; on a cluster too."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

CHILD = """
import ctypes, json, resource, sys
import numpy as np
from poolwise import KMeans, PooledFeatures

n, what = int(sys.argv[1]), sys.argv[2]
def resident():
    return int(open('/proc/self/statm').read().split()[1]) * resource.getpagesize() / 2**20
small = np.random.default_rng(0).integers(0, 256, size=(500, 32, 32, 3), dtype=np.uint8)
images = np.resize(small, (n, 32, 32, 3))
quick = {"n_patches": 100_000, "dictionary__max_iter": 2, "n_jobs": 2, "random_state": 0}
model = PooledFeatures.preset("jia2012", n_codes=200, **quick).fit(small)
model.transform(small)
patches = 100_000 * 108 * 4 / 2**20
ctypes.CDLL(None).malloc_trim(0)  # give back what the warm-up left, so that it does not hide what is needed
open('/proc/self/clear_refs', 'w').write('5')  # forget the peak so far
before = resident()
if what == 'transform':
    result = model.transform(images).nbytes / 2**20
else:
    model.fit(images)
    result = patches
peak = [int(l.split()[1]) / 2**10 for l in open('/proc/self/status') if l.startswith('VmHWM')][0]
print(json.dumps({'result': result, 'beyond': peak - before - result}))
"""


def run(what: str) -> dict[str, object]:
    if not Path("/proc/self/clear_refs").exists():
        return {"name": f"memory-{what}", "ours": None, "peer": None, "ratio": None, "skipped": "needs Linux's /proc"}
    beyond = {}
    for n in (10_000, 40_000):
        out = subprocess.run([sys.executable, "-c", CHILD, str(n), what], capture_output=True, text=True, check=True)
        beyond[n] = json.loads(out.stdout)
    return {
        "name": f"memory-{what}",
        "ours": round(beyond[40_000]["beyond"], 1),
        "peer": round(beyond[10_000]["beyond"], 1),
        "ratio": round(max(beyond[40_000]["beyond"], 1.0) / max(beyond[10_000]["beyond"], 1.0), 2),
        "unit": f"MB resident at the peak beyond images and {'result' if what == 'transform' else 'patch sample'}, "
        "40,000 images; the peer is 10,000 images",
        "result_mb": {n: round(b["result"], 1) for n, b in beyond.items()},
    }


CLUSTER = """
import ctypes, json, os, sys, threading, time
import numpy as np
import poolwise
from poolwise import PooledFeatures

def anonymous(pid):
    with open(f'/proc/{pid}/status') as file:
        return next(int(line.split()[1]) / 2**10 for line in file if line.startswith('RssAnon'))

def trim():
    ctypes.CDLL(None).malloc_trim(0)

if __name__ == '__main__':
    images = np.load(sys.argv[1], mmap_mode='r')
    quick = {'n_patches': 100_000, 'dictionary__max_iter': 2, 'n_jobs': 1, 'random_state': 0}
    model = PooledFeatures.preset('jia2012', n_codes=50, n_candidates=200, **quick)
    with poolwise.cluster('local:2') as client:
        model.fit(images[:500])
        trim(), client.run(trim)
        pids = [os.getpid(), *client.run(os.getpid).values()]
        before, most, done = [anonymous(pid) for pid in pids], [0.0] * len(pids), threading.Event()
        def look():
            while not done.wait(0.05):
                for place, pid in enumerate(pids):
                    most[place] = max(most[place], anonymous(pid))
        watch = threading.Thread(target=look)
        watch.start()
        model.fit(images)
        done.set()
        watch.join()
    print(json.dumps([peak - start for peak, start in zip(most, before)]))
"""


def cluster() -> dict[str, object]:
    """`fit` on two worker processes: client and workers need no more for 40,000 images in a file than for 10,000."""
    if not Path("/proc/self/status").exists():
        return {"name": "memory-cluster", "ours": None, "peer": None, "ratio": None, "skipped": "needs Linux's /proc"}
    beyond: dict[int, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "child.py"  # a file: processes that are started import it
        script.write_text(CLUSTER)
        small = np.random.default_rng(0).integers(0, 256, size=(500, 32, 32, 3), dtype=np.uint8)
        for n in (10_000, 40_000):
            name = Path(folder) / f"{n}.npy"
            np.save(name, np.resize(small, (n, 32, 32, 3)))
            out = subprocess.run([sys.executable, script, name], capture_output=True, text=True, check=True, timeout=1800)
            beyond[n] = json.loads(out.stdout)
    few, many = (max(beyond[n][1:]) for n in (10_000, 40_000))
    return {
        "name": "memory-cluster",
        "ours": round(many, 1),
        "peer": round(few, 1),
        "ratio": round(max(many, 1.0) / max(few, 1.0), 2),
        "unit": "MB at the peak of the larger of two workers (RssAnon, every 50 ms) beyond a fit of 500 images, 40,000 images; "
        "the peer is 10,000. fit of 50 of 200 codes, 100,000 patches",
        "client_and_workers_mb": {n: [round(one, 1) for one in found] for n, found in beyond.items()},
    }
