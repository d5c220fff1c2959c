"""Sources that travel to the workers of a cluster as names: addresses, zarr, and what dask arrays are computed from."""

import functools
import http.server
import threading

import numpy as np
import pytest
import zarr

import poolwise
from poolwise import PooledFeatures, open_images
from poolwise.engine.errors import ClusterError

from small import write_pngs

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'poolwise[dask]'")
da = pytest.importorskip("dask.array")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture
def web(tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_workers_open_addresses_zarr_and_lazy_arrays_themselves(web, tmp_path, rng, monkeypatch):
    pytest.importorskip("aiohttp")
    images = rng.integers(0, 256, size=(60, 12, 12, 3), dtype=np.uint8)
    write_pngs(tmp_path / "photos", images, ["all"] * 60)
    (tmp_path / "t.csv").write_text("path\n" + "\n".join(f"{web}/photos/all/{row:05}.png" for row in range(60)))
    zarr.create_array(str(tmp_path / "x.zarr"), data=images, chunks=(7, 12, 12, 3))
    monkeypatch.chdir(tmp_path)
    model = PooledFeatures(3, None, n_patches=500, random_state=0)
    expected = model.fit_transform(images)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers,
        distributed.Client(workers) as client,
        poolwise.cluster(client),
    ):
        lazy = da.from_zarr("x.zarr")
        for source in (f"{web}/photos", "t.csv", "x.zarr", f"{web}/x.zarr", lazy):
            opened = open_images(source) if source is lazy else open_images(source, memory=0)
            np.testing.assert_array_equal(model.fit_transform(opened), expected)
        with pytest.raises(ClusterError, match=r"images of type SlicedImages cannot be sent.*np\.save"):
            model.fit(open_images(client.persist(lazy)))
