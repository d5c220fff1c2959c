"""Images at addresses: memory://, file:// and a web server on loopback, compared with the same files in a folder."""

import functools
import http.server
import io
import json
import subprocess
import sys
import threading

import numpy as np
import pytest
import zarr
from PIL import Image

from poolwise import PooledFeatures, open_images
from poolwise.images import ImageError, fetching

from small import write_pngs

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install 'poolwise[remote]'")


class Server(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, with or without parts of them; /busy/ answers at the second time, /secret never."""

    gives_parts, asked = True, {}

    def log_message(self, *words):
        pass

    def do_GET(self):
        self.asked[self.path] = self.asked.get(self.path, 0) + 1
        if self.path.startswith("/secret"):
            self.send_error(403)
        elif self.path.startswith("/busy/") and self.asked[self.path] < 2:
            self.send_error(503)
        elif self.gives_parts and "Range" in self.headers:
            first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
            with open(self.translate_path(self.path), "rb") as file:
                file.seek(first)
                content = file.read(last + 1 - first)
            self.send_response(206)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        else:
            self.path = self.path.removeprefix("/busy")
            super().do_GET()


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).integers(0, 256, size=(30, 12, 12, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, images):
    """Ten images in each of three classes, one of them deeper; tables, arrays."""
    home = tmp_path_factory.mktemp("elsewhere")
    write_pngs(home / "photos", images, [("cat", "dog", "mouse/grey")[number // 10] for number in range(30)])
    (home / "photos" / "notes.md").write_text("not an image")
    names = [f"photos/cat/{number:05}.png" for number in range(10)]
    (home / "list.txt").write_text("\n".join(names))
    (home / "table.csv").write_text("path,label\n" + "\n".join(f"{name},c{number % 2}" for number, name in enumerate(names)))
    np.save(home / "x.npy", images)
    np.savez(home / "x.npz", x_train=images, y_train=np.arange(30))
    zarr.create_array(str(home / "x.zarr"), data=images, chunks=(7, 12, 12, 3))
    group = zarr.open_group(str(home / "group.zarr"), mode="w")
    group.create_array("images", data=images)
    group.create_array("labels", data=np.arange(30))
    return home


@pytest.fixture(scope="module")
def web(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["memory", "file", "http"])
def place(request, folder):
    if request.param == "memory":
        fsspec.filesystem("memory").put(str(folder), "/place", recursive=True)
        yield "memory://place"
        fsspec.filesystem("memory").rm("/place", recursive=True)
    elif request.param == "file":
        yield folder.as_uri()
    else:
        pytest.importorskip("aiohttp")
        yield request.getfixturevalue("web")


def test_a_folder_has_the_images_labels_and_order_of_the_same_here(place, folder):
    here, there = open_images(folder / "photos"), open_images(f"{place}/photos")
    assert (there.names, there.labels.tolist()) == (here.names, here.labels.tolist())
    np.testing.assert_array_equal(there[:], here[:])


def test_every_kind_of_source_is_read(place, folder, images):
    for name in ("list.txt", "table.csv"):
        there, here = open_images(f"{place}/{name}"), open_images(folder / name)
        np.testing.assert_array_equal(there[:], here[:])
        assert there.names == here.names
    assert there.labels.tolist() == ["c0", "c1"] * 5
    assert open_images(f"{place}/photos/cat/00003.png").shape == (1, 12, 12, 3)
    np.testing.assert_array_equal(open_images([f"{place}/photos/dog/00011.png"])[0], images[11])
    rows = np.array([29, 3, 3, 17])
    for name, words in (("x.npy", {}), ("x.npz", {"member": "train"}), ("x.zarr", {}), ("group.zarr", {"member": "images"})):
        source = open_images(f"{place}/{name}", **words)
        assert (source.shape, source.dtype) == (images.shape, np.uint8)
        np.testing.assert_array_equal(source[rows], images[rows])
        np.testing.assert_array_equal(source[4:21], images[4:21])
    assert source.labels.tolist() == list(range(30))


def test_features_are_those_of_the_folder(place, folder):
    model = PooledFeatures(3, None, n_patches=500, random_state=0)
    expected = model.fit_transform(open_images(folder / "photos"))
    np.testing.assert_array_equal(model.fit_transform(open_images(f"{place}/photos", memory=0)), expected)
    np.testing.assert_array_equal(model.fit_transform(open_images(f"{place}/x.npy")), expected)


def test_a_local_table_may_name_addresses(web, folder, images, tmp_path):
    rows = [f"{web}/photos/cat/00002.png", str(folder / "photos/cat/00001.png")]
    (tmp_path / "t.csv").write_text("path\n" + "\n".join(rows))
    np.testing.assert_array_equal(open_images(tmp_path / "t.csv")[:], images[[2, 1]])


def test_what_is_not_there_or_does_not_answer_is_named(web, monkeypatch):
    monkeypatch.setattr(fetching, "_PAUSES", (0.01,))
    for where, reason in (
        (f"{web}/none.png", r"none\.png: there is no such file at this address"),
        (f"{web}/none.csv", "there is no such file at this address"),
        (f"{web}/none/", "there is no such file at this address"),
        (f"{web}/secret.png", "cannot be read from there .*403"),
        ("http://127.0.0.1:9/a.png", r"127\.0\.0\.1:9/a\.png: it cannot be read from there"),
        ("http://127.0.0.1:9/photos", "it cannot be read from there"),
        ("memory://none/a.npy", "there is no such file at this address"),
        ("memory://none", "no image files in it|there is no such file"),
        ("nothing://bucket/a.png", "fsspec opens no nothing://"),
        ("memory://x.zarr", "cannot be opened as an array of zarr"),
        ("zip://a.png::memory://b.zip", "several addresses in one"),
    ):
        with pytest.raises(ImageError, match=reason):
            open_images(where)
    with pytest.raises(ValueError, match="three slashes"):
        open_images("file://photos/a.png")
    with pytest.raises(ImageError, match="a Path loses one of its slashes"):
        open_images(__import__("pathlib").Path("s3://bucket/photos"))


def test_a_busy_server_is_asked_again(web, images, monkeypatch):
    monkeypatch.setattr(fetching, "_PAUSES", (0.01,))
    np.testing.assert_array_equal(open_images(f"{web}/busy/photos/cat/00004.png")[0], images[4])


def test_files_that_cannot_be_used_are_left_out(web, folder, tmp_path):
    names = [
        f"{web}/photos/{kind}/{number:05}.png" for number in range(30) for kind in [("cat", "dog", "mouse/grey")[number // 10]]
    ]
    bad = [*names[:4], f"{web}/gone.png", *names[4:]]
    source = open_images(bad, on_error="skip")
    assert [name for name, _ in source.skipped] == [f"{web}/gone.png"]
    assert source.names == names
    with pytest.raises(ImageError, match=r"gone\.png: there is no such file"):
        open_images(bad)[:]


def test_lists_from_elsewhere_name_nothing_of_this_machine(folder):
    memory = fsspec.filesystem("memory")
    for row in ("/etc/passwd", "file:///etc/passwd", f"{folder}/photos/cat/00000.png", "http://127.0.0.1:9/a.png"):
        memory.pipe("/lists/a.txt", row.encode())
        memory.pipe("/lists/a.csv", f"path\nb.png\n{row}\n".encode())
        for name in ("a.txt", "a.csv"):
            with pytest.raises(ImageError, match="not of the same protocol"):
                open_images(f"memory://lists/{name}")


def test_content_from_elsewhere_is_decoded_as_files_are(monkeypatch):
    memory, buffer = fsspec.filesystem("memory"), io.BytesIO()
    Image.new("RGB", (50, 40)).save(buffer, "PNG")
    memory.pipe("/odd/big.png", buffer.getvalue())
    memory.pipe("/odd/text.png", b"no image")
    memory.pipe("/odd/short.png", buffer.getvalue()[:60])
    memory.pipe("/odd/short.npy", open_npy(np.zeros((4, 8, 8, 3), np.uint8))[:-1])
    memory.pipe("/odd/objects.npy", open_npy(np.zeros((4, 8, 8, 3), "O")))
    memory.pipe("/odd/fortran.npy", open_npy(np.asfortranarray(np.zeros((4, 8, 8, 3)))))
    with pytest.raises(ImageError, match="40×50 pixels exceed"):
        open_images("memory://odd/big.png", max_pixels=1999)
    for name, reason in (
        ("text.png", "its content is not a PNG"),
        ("short.png", "cannot be decoded"),
        ("short.npy", "ends too early"),
        ("objects.npy", "save numbers"),
        ("fortran.npy", "in the order of C"),
    ):
        with pytest.raises(ImageError, match=reason):
            open_images(f"memory://odd/{name}")
    monkeypatch.setattr(fetching.fetch, "__defaults__", (20,))
    with pytest.raises(ImageError, match="more than 20 bytes"):
        open_images("memory://odd/big.png")


def open_npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_codecs_of_zarr_that_could_run_code_are_refused(folder, tmp_path, monkeypatch):
    array = zarr.create_array(str(tmp_path / "x.zarr"), data=np.zeros((4, 8, 8, 3), np.uint8), zarr_format=2)
    del array
    described = json.loads((tmp_path / "x.zarr" / ".zarray").read_text())
    for codec, reason in (("pickle", "pickle"), ("base64", "its codec 'base64' is not known to be safe")):
        (tmp_path / "x.zarr" / ".zarray").write_text(json.dumps(described | {"compressor": {"id": codec}}))
        with pytest.raises(ImageError, match=reason):
            open_images(tmp_path / "x.zarr")
    monkeypatch.setattr("poolwise.images.zarr_arrays.MOST_BYTES_PER_CHUNK", 3000)
    with pytest.raises(ImageError, match=r"chunks .* have 3\.0 kB each"):
        open_images(folder / "x.zarr")


def test_a_server_without_parts_of_files_is_named(web, monkeypatch):
    monkeypatch.setattr(Server, "gives_parts", False)
    with pytest.raises(ImageError, match="gives no parts of files"):
        open_images(f"{web}/x.npy")


def test_without_fsspec_the_error_names_the_extra(tmp_path):
    code = (
        "import sys; sys.modules['fsspec'] = sys.modules['fsspec.core'] = None\n"
        "import poolwise\n"
        "try: poolwise.open_images('s3://bucket/photos')\n"
        "except ValueError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "s3://bucket/photos: an address needs the package fsspec: pip install 'poolwise[remote]'" in done.stdout
