"""A small web server, archives for it to serve, and files to put into these; the commands' tests use them too."""

import hashlib
import io
import re
import tarfile
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from poolwise.datasets.cifar10 import FILES, RECORD
from poolwise.datasets.download import Archive


def tar_of(files, extra=()):
    """A .tar.gz of {name: bytes}, and of TarInfos that have no content; bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for info in extra:
            archive.addfile(info)
    return buffer.getvalue()


def write_batches(folder, rng, n=3):
    """CIFAR-10's six files with n images each; their records."""
    folder.mkdir(parents=True)
    records = {}
    for name in (*FILES["train"], *FILES["test"]):
        rows = rng.integers(0, 256, (n, RECORD), dtype=np.uint8)
        rows[:, 0] %= 10
        (folder / name).write_bytes(rows.tobytes())
        records[name] = rows
    return records


class Server:
    """Serves `content` at /set.tar.gz; the switches make it behave as bad servers do."""

    def __init__(self):
        self.content = b""
        self.ranges = True  # answers Range
        self.stop_after = None  # bytes of the body after which the connection ends
        self.wrong_start = False  # answers a Range from somewhere else
        self.length = True  # tells Content-Length
        self.status = None
        self.location = None  # where /set.tar.gz redirects to
        self.silent = None  # an Event: nothing is sent before it is set
        self.stall = None  # an Event: nothing more is sent before it is set
        self.requested = []  # the Range header of each request

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/set.tar.gz"

    def archive(self, folder="set", max_bytes=10_000_000, content=None):
        md5 = hashlib.md5(self.content if content is None else content, usedforsecurity=False).hexdigest()
        return Archive(self.url, md5, folder, max_bytes)

    def answer(self, handler):
        wanted = handler.headers.get("Range")
        self.requested.append(wanted)
        if self.silent is not None:
            self.silent.wait(10)
        if self.status or (self.location and handler.path == "/set.tar.gz"):
            handler.send_response(302 if self.location else self.status)
            handler.send_header("Location", self.location or "")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted and self.ranges else 0
        if self.wrong_start and start:
            start = 1
        if start and start >= len(self.content):
            handler.send_response(416)
            handler.send_header("Content-Range", f"bytes */{len(self.content)}")
            handler.end_headers()
            return
        body = self.content[start:]
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(self.content) - 1}/{len(self.content)}")
        if self.length:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: self.stop_after])
        if self.stall is not None:
            self.stall.wait(10)


@pytest.fixture
def server():
    behaviour = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            with suppress(ConnectionError):  # who asked may leave early; a traceback would stand in another test's stderr
                behaviour.answer(self)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        behaviour.port = http.server_port
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield behaviour
        for event in (behaviour.silent, behaviour.stall):
            if event is not None:
                event.set()
        http.shutdown()
        thread.join()


@pytest.fixture
def pack():
    return tar_of
