"""The page that runs a model, in a real browser: the library's labels, nothing asked of anyone, anything given to it."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image
from sklearn.pipeline import make_pipeline

from poolwise import KMeans, LinearSVM, PooledFeatures, Threshold, export_page
from poolwise.images.decoding import Decoder

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)>"
QUICK = {"n_patches": 4000, "dictionary": KMeans(max_iter=6), "random_state": 0, "n_jobs": 1}
RUN = """
const [text, done] = arguments;
const file = new File([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))], "a.png");
poolwise.run(file).then(
  (found) => done({ ...found, features: [...found.features], pixels: [...found.pixels] }),
  (error) => done({ refused: error.message }),
);
"""


@pytest.fixture(scope="module")
def photos():
    """Photos of six pictures: 120 to learn from, 100 others; names of these, one of them hostile."""
    from poolwise.datasets import load_photos

    parts = []
    for subset, step, count in (("train", 10, 120), ("test", 6, 100)):
        found = load_photos(subset=subset)
        rows = np.flatnonzero(found.target < 6)[::step][:count]
        names = found.target_names[found.target[rows]].astype(object)
        parts.append((found.images[rows], np.where(names == found.target_names[0], HOSTILE, names).astype(str)))
    return parts


@pytest.fixture(scope="module")
def classifier(photos):
    images, names = photos[0]
    encoder = Threshold((0.25, 1.0), two_sided=True)
    features = PooledFeatures(16, 48, symmetry="mirror", encoder=encoder, statistics=True, **QUICK)
    return make_pipeline(features, LinearSVM(n_jobs=1)).fit(images, names)


@pytest.fixture(scope="module")
def page(classifier, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    export_page(classifier, path, title=HOSTILE)
    return path.as_uri()


@pytest.fixture(scope="module")
def files(photos, tmp_path_factory):
    """The 100 others as PNG files."""
    folder = tmp_path_factory.mktemp("pictures")
    paths = [folder / f"{number:03}.png" for number in range(len(photos[1][0]))]
    for path, pixels in zip(paths, photos[1][0], strict=True):
        Image.fromarray(pixels).save(path)
    return [str(path) for path in paths]


@pytest.fixture
def wait(driver):
    """Wait until an expression of the page is true."""
    from selenium.webdriver.support.ui import WebDriverWait

    def until(expression, seconds=60):
        WebDriverWait(driver, seconds, 0.05).until(lambda driver: driver.execute_script(f"return {expression}"))

    return until


@pytest.fixture
def give(driver, wait):
    """Choose files, and wait until all have been looked at."""

    def choose(paths, count=None):
        count = len(paths) if count is None else count
        driver.find_element("id", "files").send_keys("\n".join(paths))
        wait(f"document.querySelectorAll('#pictures li').length >= {count} && !document.getElementById('files').value")
        wait("document.getElementById('result').hidden || document.querySelector('#codes li')")

    return choose


def text(driver, name):
    return driver.find_element("id", name).text


def run(driver, content):
    return driver.execute_async_script(RUN, base64.b64encode(content).decode())


def saved(image, kind="PNG", **more):
    file = io.BytesIO()
    image.save(file, kind, **more)
    return file.getvalue()


def test_100_pictures_get_the_librarys_labels(show, page, requests, files, give, photos, classifier):
    driver = show(page)
    give(files)
    found = driver.execute_script("return [...document.querySelectorAll('#pictures .is')].map((e) => e.textContent)")
    want = classifier.predict(photos[1][0])
    assert found == want.tolist()
    assert len(set(found)) > 3
    assert text(driver, "label") == want[-1]
    assert driver.execute_script("return document.body.dataset.loops") == "WebAssembly"
    assert driver.get_log("browser") == []
    asked = [address for address in requests() if not address.startswith(("data:", "about:", "blob:"))]
    assert asked == [page]
    entries = driver.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert [name for name in entries if not name.startswith(("data:", "blob:"))] == []


def test_features_and_margins_are_the_librarys(show, page, photos, classifier):
    driver, features = show(page), classifier[0]
    images = photos[1][0][::12]
    found = [run(driver, saved(Image.fromarray(pixels))) for pixels in images]
    X, margins = features.transform(images), classifier.decision_function(images)
    np.testing.assert_array_equal([one["pixels"] for one in found], images.reshape(len(images), -1))
    np.testing.assert_allclose([one["features"] for one in found], X, rtol=0, atol=1e-4 * np.abs(X).max())
    np.testing.assert_allclose([one["margins"] for one in found], margins, rtol=0, atol=1e-4 * np.abs(margins).max())
    assert all(one["milliseconds"] > 0 for one in found)


def photograph(height, width):
    """Something like a photograph: smooth, with noise."""
    y, x = np.mgrid[:height, :width]
    waves = [128 + 100 * np.sin(x / (width / 9) + k) * np.cos(y / (height / 7) - k) for k in range(3)]
    return Image.fromarray(np.stack(waves, axis=2).astype(np.uint8))


TURNED = b"Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0"  # by 90°
FADED = Image.merge("RGBA", (*photograph(64, 64).split(), Image.linear_gradient("L").resize((64, 64))))


@pytest.mark.parametrize(
    ("content", "near"),
    [
        (saved(photograph(97, 150)), 0),
        (saved(photograph(150, 97)), 1),
        (saved(photograph(31, 500)), 0),
        (saved(photograph(60, 90), "JPEG", quality=90), 3),
        (saved(photograph(60, 90), "BMP"), 0),
        (saved(photograph(60, 90), "WEBP", lossless=True), 0),
        (saved(photograph(40, 60).convert("P", palette=Image.Palette.ADAPTIVE), "GIF"), None),
        (saved(photograph(40, 60).convert("L")), 0),
        (saved(FADED), 1),
        (saved(photograph(90, 60), "JPEG", quality=95, exif=TURNED), 3),
    ],
    ids=["png", "tall", "wide", "jpeg", "bmp", "webp", "gif", "grey", "transparent", "turned"],
)
def test_pixels_are_those_of_the_library(show, page, tmp_path, content, near):
    """Of whatever size and format; `near`: levels that decoders and versions of Pillow may differ by."""
    driver = show(page)
    (tmp_path / "a.png").write_bytes(content)
    found = run(driver, content)
    assert len(found["margins"]) == 6
    if near is not None:  # the library reads no GIF
        want = Decoder(resize=(32, 32), crop=True, grey=False)(str(tmp_path / "a.png"))
        assert np.abs(np.reshape(found["pixels"], (32, 32, 3)) - want.astype(int)).max() <= near


def test_a_photograph_of_12_megapixels(show, page, give, tmp_path, classifier):
    driver, path = show(page), tmp_path / "large.png"
    path.write_bytes(saved(photograph(375, 500).resize((4000, 3000), Image.Resampling.NEAREST), compress_level=1))
    give([str(path)])
    assert "3,000 × 4,000 pixels, cut to its middle and scaled to 32 × 32" in text(driver, "caption")
    pixels = Decoder(resize=(32, 32), crop=True)(str(path))
    assert text(driver, "label") == classifier.predict(pixels[None])[0]
    assert driver.get_log("browser") == []


def header_of_png(width, height):
    """A PNG of that size with next to nothing in it."""
    chunk = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"
    return b"\x89PNG\r\n\x1a\n\0\0\0\r" + chunk + bytes(100)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"This is a text file.\n" * 20, "its content is not a PNG"),
        (b"", "it is empty"),
        (
            b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>',
            "it is an SVG drawing",
        ),
        (header_of_png(30_000, 30_000), "30,000 × 30,000 pixels; a page takes up to 64 million"),
        (header_of_png(0, 5), "which is empty"),
        (header_of_png(50, 50), "begins as a PNG, but cannot be decoded"),
        (saved(photograph(300, 300))[:2000], "begins as a PNG, but cannot be decoded"),
    ],
    ids=["text", "nothing", "svg", "huge", "flat", "damaged", "cut"],
)
def test_what_is_no_picture_is_refused_in_words(show, page, tmp_path, files, wait, content, words):
    """And the pictures next to it are taken all the same."""
    driver, path = show(page), tmp_path / "fake.png"
    path.write_bytes(content)
    driver.find_element("id", "files").send_keys(f"{path}\n{files[0]}")
    wait("document.getElementById('status').classList.contains('wrong')")
    assert text(driver, "status").startswith("fake.png cannot be used: ")
    assert words in text(driver, "status")
    assert "000.png: " in text(driver, "status")
    assert len(driver.find_elements("css selector", "#pictures li")) == 1
    assert driver.get_log("browser") == []


def test_hostile_text_shows_as_text(show, page, give, files, photos, classifier, tmp_path):
    driver = show(page)
    number = classifier.predict(photos[1][0]).tolist().index(HOSTILE)
    path = tmp_path / "<b>bold.png"
    Image.fromarray(photos[1][0][number]).save(path)
    give([str(path)])
    assert driver.find_element("tag name", "h1").text == HOSTILE
    assert text(driver, "label") == HOSTILE
    assert "<b>bold.png" in text(driver, "caption")
    assert HOSTILE in driver.find_element("css selector", "#margins .first .name").get_attribute("textContent")
    assert driver.execute_script("return document.images.length + document.querySelectorAll('b b, #caption b').length") == 0
    assert driver.execute_script("return document.scripts.length") == 2
    assert driver.get_log("browser") == []


def test_a_picture_is_dropped_or_pasted(show, page, wait, photos):
    driver = show(page)
    content = base64.b64encode(saved(Image.fromarray(photos[1][0][0]))).decode()
    give = """
    const [text, kind] = arguments, transfer = new DataTransfer();
    if (text) transfer.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], "dropped.png"));
    else transfer.setData("text/uri-list", "https://example.com/a.png");
    const event = new Event(kind, { bubbles: true, cancelable: true });
    event[kind === "drop" ? "dataTransfer" : "clipboardData"] = transfer;
    document.body.dispatchEvent(event);
    """
    driver.execute_script(give, "", "drop")
    assert "That is a link or text, not a picture" in text(driver, "status")
    driver.execute_script(give, content, "drop")
    wait("document.querySelectorAll('#pictures li').length === 1")
    assert text(driver, "caption").startswith("dropped.png: 32 × 32 pixels")
    driver.execute_script(give, content, "paste")
    wait("document.querySelectorAll('#pictures li').length === 2")
    assert text(driver, "caption").startswith("Pasted picture: ")


def test_the_camera(show, page, wait):
    driver = show(page)
    driver.find_element("id", "camera").click()
    wait("document.getElementById('caption').textContent.startsWith('Camera: ')")
    assert driver.find_element("id", "camera").get_attribute("aria-pressed") == "true"
    driver.find_element("id", "camera").click()
    wait("document.querySelectorAll('#pictures li').length === 1")
    assert driver.execute_script("return document.getElementById('video').srcObject") is None
    assert driver.get_log("browser") == []


def test_keys_choose_labels_codes_and_pictures(show, page, give, files, wait):
    from selenium.webdriver import ActionChains, Keys

    driver = show(page)
    give(files[:3])

    def press(*keys):
        ActionChains(driver).send_keys(*keys).perform()

    first = driver.find_element("css selector", "#margins button")
    driver.execute_script("arguments[0].focus()", first)
    press(Keys.TAB, Keys.ENTER)
    row = driver.execute_script("return document.activeElement.dataset.row")
    assert driver.execute_script("return document.activeElement.getAttribute('aria-pressed')") == "true"
    assert driver.find_element("id", "order").get_attribute("value") == row
    wait("document.getElementById('fired-text').textContent.startsWith('By what they add')")
    codes = driver.find_elements("css selector", "#codes button")
    driver.execute_script("arguments[0].focus()", codes[1])
    press(" ")
    assert [button.get_attribute("aria-pressed") for button in codes].index("true") == 1
    number = int(codes[1].get_attribute("data-code")) % 16
    lit = driver.execute_script("return [...document.querySelectorAll('#mosaic .tile')].findIndex((e) => e.matches('.lit'))")
    assert lit == number
    picture = driver.find_element("css selector", "#pictures button")
    driver.execute_script("arguments[0].focus()", picture)
    press(Keys.ENTER)
    assert text(driver, "caption").startswith("000.png")
    outline = "return getComputedStyle(document.querySelector('.buttons label')).outlineStyle"
    driver.execute_script("document.activeElement.blur(); document.querySelector('.skip').focus()")
    press(Keys.TAB, Keys.TAB)
    assert driver.execute_script("return document.activeElement.id") in ("files", "camera", "theme")
    while driver.execute_script("return document.activeElement.id") != "files":
        press(Keys.TAB)
    assert driver.execute_script(outline) == "solid"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 768, 1920])
def test_the_layout_holds(show, page, give, files, width, scheme):
    driver = show(page, width, scheme)
    give(files[:4])
    wide, inner = driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert (wide, inner) == (width, width)
    beyond = driver.execute_script(
        "return [...document.querySelectorAll('main *')].filter((e) => e.getClientRects().length && !e.matches('.unseen')"
        " && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80))"
    )
    assert beyond == []
    for name in ("picture", "heat", "margins", "codes", "pictures", "mosaic"):
        assert driver.find_element("id", name).size["height"] > 30
    small = driver.execute_script(
        "return [...document.querySelectorAll('main button, .buttons label')].filter((e) => e.offsetParent"
        " && e.offsetHeight < 24).map((e) => e.outerHTML.slice(0, 80))"
    )
    assert small == []
    silent = driver.execute_script("return [...document.querySelectorAll('[role=img]')].filter((e) => !e.ariaLabel).length")
    assert silent == 0
    ground, ink = driver.execute_script("const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]")
    assert (brightness(ground) > brightness(ink)) == (scheme == "light")


def brightness(colour):
    return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))


def test_nothing_moves_where_that_is_asked(show, page, driver):
    show(page)
    media = {"media": "", "features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    lasting = driver.execute_script(
        "return [...document.querySelectorAll('*')]"
        ".filter((e) => parseFloat(getComputedStyle(e).transitionDuration) > 0).length"
    )
    assert lasting == 0


def test_features_alone_show_codes(show, classifier, give, files, tmp_path, photos):
    export_page(classifier[0], tmp_path / "features.html", crop=False)
    driver = show((tmp_path / "features.html").as_uri())
    give(files[:1])
    assert text(driver, "label") == f"{classifier[0].n_features_out_:,} numbers"
    assert not driver.find_elements("id", "margins")
    assert driver.find_elements("css selector", "#codes button")
    tall = photograph(300, 40)
    (tmp_path / "tall.png").write_bytes(saved(tall))
    found = run(driver, saved(tall))
    want = Decoder(resize=(32, 32))(str(tmp_path / "tall.png"))
    pixels = np.reshape(found["pixels"], want.shape).astype(np.uint8)
    assert np.abs(pixels - want.astype(int)).max() <= 1
    X = classifier[0].transform(pixels[None])[0]
    np.testing.assert_allclose(found["features"], X, rtol=0, atol=1e-4 * np.abs(X).max())
    assert found["margins"] is None


def test_the_policy_holds(show, page, driver, requests):
    """Whatever ran in the page could ask nobody."""
    show(page)
    fetched = "fetch('http://127.0.0.1:9/').then(() => done('asked'), () => done('refused'))"
    done = driver.execute_async_script(f"const done = arguments[0]; {fetched}")
    assert done == "refused"
    assert "Content Security Policy" in json.dumps(driver.get_log("browser"))
    assert "http://127.0.0.1:9/" not in requests()
