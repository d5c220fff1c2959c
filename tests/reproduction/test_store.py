"""The store: whole after every entry, shared by processes, and suspicious of other files."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from poolwise.reproduction.cells import in_runs, kmeans, pdl
from poolwise.reproduction.store import Store, StoreError

CELL = kmeans("cifar10", 200)
RESULT = {"accuracy": 0.5, "seconds": {"svm": 1.5}}


def test_what_was_added_is_there_for_the_next_process(tmp_path):
    Store(tmp_path / "new").add(CELL, RESULT)
    found = Store(tmp_path / "new").get(CELL)
    assert found["accuracy"] == 0.5
    assert found["K"] == 200


def test_missing_keeps_order_and_names_each_once(tmp_path):
    store = Store(tmp_path)
    store.add(CELL, RESULT)
    other = pdl("cifar10", 200, 800)
    assert store.missing([other, CELL, other]) == [other]


def test_two_stores_on_one_folder_keep_each_others_entries(tmp_path):
    one, two = Store(tmp_path), Store(tmp_path)
    one.add(CELL, RESULT)
    two.add(pdl("cifar10", 200, 800), RESULT)
    two.add_finding("anatomy", {"rho": 0.1})
    assert len(Store(tmp_path).all()) == 2
    assert Store(tmp_path).finding("anatomy") == {"rho": 0.1}


def test_many_at_once_leave_a_file_that_can_be_read(tmp_path):
    cells = in_runs([CELL], range(40))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda cell: Store(tmp_path).add(cell, RESULT), cells))
    assert len(Store(tmp_path).all()) == 40


def test_two_processes_lose_nothing(tmp_path):
    code = (
        "import sys; from poolwise.reproduction.cells import kmeans; from poolwise.reproduction.store import Store\n"
        "store = Store(sys.argv[1]); print(flush=True); sys.stdin.readline()\n"
        "for seed in range(int(sys.argv[2]), 200, 2): store.add(kmeans('cifar10', 1 + seed), {'accuracy': 0.5, 'seconds': {}})"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path, str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for n in range(2)
    ]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.close()
    for process in processes:
        assert process.wait(120) == 0
        process.stdout.close()
    assert len(Store(tmp_path).all()) == 200
    assert os.listdir(tmp_path) == ["results.json"]


def test_the_file_has_a_line_for_each_entry_and_is_plain_json(tmp_path):
    store = Store(tmp_path)
    for cell in in_runs([CELL], range(3)):
        store.add(cell, RESULT)
    text = store.path.read_text(encoding="utf-8")
    assert sum('"accuracy"' in line for line in text.splitlines()) == 3
    assert len(json.loads(text)["cells"]) == 3


def test_an_entry_that_fails_leaves_the_file_as_it_was(tmp_path):
    store = Store(tmp_path)
    store.add(CELL, RESULT)
    before = store.path.read_bytes()
    with pytest.raises(TypeError):
        store.add(kmeans("cifar10", 400), {"accuracy": 0.5, "seconds": {1, 2}})
    assert store.path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        '{"format": 3, "cells": {}, "findings": {}}',
        '{"format": 2, "cells": []}',
        '{"format": 2, "cells": {"a": {"accuracy": "high", "seconds": {}}}, "findings": {}}',
        '{"format": 2, "cells": {"a": {"accuracy": 0.5}}, "findings": {}}',
        '{"format": 2, "cells": {}, "findings": {"a": 3}}',
        "[" * 100_000,
    ],
)
def test_other_files_are_refused_and_left_alone(tmp_path, text):
    (tmp_path / "results.json").write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match=r"results\.json"):
        Store(tmp_path)
    assert (tmp_path / "results.json").read_text(encoding="utf-8") == text
