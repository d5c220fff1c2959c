"""Memory: `transform` needs no more for 40,000 images than for 10,000, beyond its result; `fit` no more beyond its patches."""

import json
import subprocess
import sys
from pathlib import Path

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
