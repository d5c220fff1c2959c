"""Chromium without a screen, and pages for it to open."""

import json
import shutil

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from poolwise import KMeans, LinearSVM
from poolwise.report import write_report

from settings import paper_features

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="session")
def driver():
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not chromedriver:
        pytest.skip("chromium and chromedriver are not installed; `make test-browser` installs them")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    camera = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", *camera):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def model():
    """12 of 48 codes of four pictures, one of which has a hostile name; with its images, labels and names."""
    from poolwise.datasets import load_photos

    photos = load_photos(subset="train")
    rows = np.flatnonzero(photos.target < 4)[::8]
    images, labels = photos.images[rows], photos.target_names[photos.target[rows]].astype(object)
    labels = np.where(labels == labels[0], HOSTILE, labels).astype(str)
    features = paper_features(12, 48, n_patches=4000, dictionary=KMeans(max_iter=6), random_state=0, n_jobs=1)
    model = make_pipeline(features, LinearSVM(n_jobs=1)).fit(images, labels)
    names = [f"\"quoted\" '{row}' <b>.png" for row in rows]
    return model, images, labels, names


@pytest.fixture(scope="session")
def report(model, tmp_path_factory):
    """The whole page: its address, and what it is of."""
    fitted, images, labels, names = model
    path = tmp_path_factory.mktemp("browser") / "report.html"
    write_report(fitted, path, images, labels, names=names, title=HOSTILE, budget={4: 0.5, 8: 0.6, 16: 0.65})
    return path.as_uri()


@pytest.fixture
def show(driver):
    """Open a page at a width, in light or dark; log entries of before are forgotten."""

    def open_page(address, width=1280, scheme="light"):
        driver.get("about:blank")
        for kind in ("browser", "performance"):
            driver.get_log(kind)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
        driver.get(address)
        return driver

    return open_page


@pytest.fixture
def requests(driver):
    """Addresses that the page asked for."""

    def found():
        messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
        return [message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"]

    return found
