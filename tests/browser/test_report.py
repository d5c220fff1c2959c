"""The report in a real browser: it loads, keeps to itself, answers mouse and keys, and fits every screen."""

import itertools

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVM
from poolwise.analysis.clusters import correlations_after, members_of
from poolwise.report import write_report

pytestmark = pytest.mark.browser
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def members(model):
    """For each code its candidates, as the panel must list them."""
    features = model[0][0]
    return members_of(features.cluster_, features.selected_, correlations_after(features.covariance_, features.cluster_))


def shown(driver):
    """Candidates in the panel."""
    return [int(row.get_dom_attribute("data-candidate")) for row in driver.find_elements("css selector", "#members li")]


def code(driver, number):
    return driver.find_element("id", f"code-{number}")


def focused(driver):
    return driver.execute_script("return document.activeElement.id")


def press(driver, *keys):
    from selenium.webdriver import ActionChains

    for key in keys:
        ActionChains(driver).send_keys(key).perform()


def test_it_loads_without_an_error_and_asks_nobody(show, report, requests):
    driver = show(report)
    assert len(driver.find_elements("css selector", "#mosaic [role=option]")) == 12
    assert driver.get_log("browser") == []
    asked = requests()
    assert report in asked
    assert [address for address in asked if address != report and not address.startswith(("data:", "about:"))] == []


def test_the_largest_cluster_is_chosen_at_first(show, report, members):
    driver = show(report)
    largest = int(np.argmax([len(one) for one in members]))
    assert code(driver, largest).get_attribute("aria-selected") == "true"
    assert shown(driver) == members[largest].tolist()


def test_a_click_changes_the_panel_to_the_codes_members(show, report, members):
    driver = show(report)
    for number in (0, 7, 11):
        code(driver, number).click()
        assert driver.find_element("id", "code-title").text == f"Code {number}"
        assert shown(driver) == members[number].tolist()
        assert len(driver.find_elements("css selector", "#mosaic [aria-selected=true]")) == 1
        assert len(driver.find_elements("css selector", "#regions .region")) > 0


def test_values_in_the_panel_are_the_models(show, report, model, members):
    driver, features = show(report), model[0][0]
    after = correlations_after(features.covariance_, features.cluster_)
    number = int(np.argmax([len(one) for one in members]))
    texts = [row.text.replace("−", "-").split() for row in driver.find_elements("css selector", "#members li .values")]
    np.testing.assert_allclose([float(pair[1]) for pair in texts], after[members[number]], atol=0.0056)
    assert all(len(pair) == 2 for pair in texts)


def test_hovering_tells_of_a_code(show, report, driver):
    from selenium.webdriver import ActionChains

    show(report)
    ActionChains(driver).move_to_element(code(driver, 5)).perform()
    assert driver.find_element("id", "status").text.startswith("Code 5, represents")


def test_keys_move_and_choose(show, report, members):
    from selenium.webdriver import Keys

    driver = show(report)
    order = driver.execute_script("return [...document.querySelectorAll('#mosaic .code')].map((e) => e.id)")
    code(driver, int(order[0].split("-")[1])).click()
    press(driver, Keys.ARROW_RIGHT)
    assert focused(driver) == order[1]
    press(driver, Keys.END)
    assert focused(driver) == order[-1]
    press(driver, Keys.ARROW_RIGHT)
    assert focused(driver) == order[-1]
    press(driver, Keys.HOME)
    assert focused(driver) == order[0]
    tops = driver.execute_script("return [...document.querySelectorAll('#mosaic .code')].map((e) => e.offsetTop)")
    columns = sum(top == tops[0] for top in tops)
    press(driver, Keys.ARROW_DOWN)
    assert focused(driver) == order[min(columns, len(order) - 1)]
    press(driver, Keys.ENTER)
    chosen = int(focused(driver).split("-")[1])
    assert shown(driver) == members[chosen].tolist()
    assert len(driver.find_elements("css selector", "#mosaic [tabindex='0']")) == 1


def test_tab_reaches_the_mosaic_and_the_focus_is_seen(show, report):
    from selenium.webdriver import Keys

    driver = show(report)
    for _ in range(12):
        press(driver, Keys.TAB)
        if focused(driver).startswith("code-"):
            break
    assert focused(driver).startswith("code-")
    assert driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 768, 1920])
def test_the_layout_holds(show, report, width, scheme):
    driver = show(report, width, scheme)
    wide, inner = driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert (wide, inner) == (width, width)
    beyond = driver.execute_script(
        "return [...document.querySelectorAll('main *')].filter((e) => !e.closest('.scroll') && e.getClientRects().length"
        " && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80))"
    )
    assert beyond == []
    for name in ("mosaic", "panel", "spectra", "similarity", "objective", "budget"):
        assert driver.find_element("id", name).size["height"] > 100
    sizes = driver.execute_script("return [...document.querySelectorAll('.code')].map((e) => [e.offsetWidth, e.offsetHeight])")
    assert min(min(size) for size in sizes) >= 24


def test_hostile_text_shows_as_text(show, report):
    driver = show(report)
    assert driver.find_element("tag name", "h1").text == HOSTILE
    cells = [cell.text for cell in driver.find_elements("css selector", "#confusion tbody th")]
    assert HOSTILE in cells
    titles = [row.get_attribute("title") for row in driver.find_elements("css selector", "#regions li")]
    assert all(title.startswith('"quoted" \'') and title.endswith("<b>.png") for title in titles)
    assert driver.execute_script("return document.scripts.length") == 2


@pytest.mark.parametrize("width", [375, 1280])
def test_long_labels_overlap_nothing(show, model, tmp_path, width):
    fitted, images, labels, names = model
    long = f"Aptenodytes_forsteri, {20 * 'a very '}long name of "
    features, svm = fitted[0], LinearSVM(n_jobs=1)
    renamed = np.array([f"{long}{number}" for number in np.unique(labels, return_inverse=True)[1]])
    pipeline = make_pipeline(features, svm.fit(features.transform(images), renamed))
    path = tmp_path / "long.html"
    write_report(pipeline, path, images, renamed, names=names)
    driver = show(path.as_uri(), width)
    boxes = """return [...document.querySelectorAll(arguments[0])].map((e) => {
        const { left, right, top, bottom, height } = e.getBoundingClientRect();
        return { left, right, top, bottom, height };
    })"""
    for kind in ("#regions .name", "#confusion thead span", "#confusion tbody th", ".largest li > *"):
        found = driver.execute_script(boxes, kind)
        assert len(found) > 3
        for one, other in itertools.combinations(found, 2):
            beside = one["right"] <= other["left"] + 1 or other["right"] <= one["left"] + 1
            assert beside or one["bottom"] <= other["top"] + 1 or other["bottom"] <= one["top"] + 1
    assert all(one["height"] < 30 for one in driver.execute_script(boxes, ".largest .n"))  # a number is one line
    cells = driver.execute_script(boxes, "#regions li")
    for name, cell in zip(driver.execute_script(boxes, "#regions .name"), cells, strict=True):
        assert name["right"] <= cell["right"] + 1


def test_a_class_is_searched(show, report):
    driver = show(report)
    data = driver.execute_script("return JSON.parse(document.getElementById('data').textContent)")
    best = [data["classes"][top[0][0]] if top else None for top in data["top"]]
    driver.find_element("id", "search").send_keys(HOSTILE)
    dimmed = ["dim" in code(driver, number).get_attribute("class") for number in range(12)]
    assert dimmed == [name != HOSTILE for name in best]
    assert len(driver.find_elements("css selector", "#confusion tr.found")) == 1
    driver.find_element("id", "search").send_keys("\ue003" * len(HOSTILE))  # backspace
    assert not driver.find_elements("css selector", ".code.dim")


def test_dark_and_light(show, report):
    ground = "return getComputedStyle(document.body).backgroundColor"
    light, dark = show(report).execute_script(ground), show(report, scheme="dark").execute_script(ground)
    assert light != dark
    driver = show(report)
    driver.find_element("id", "theme").click()
    assert driver.execute_script(ground) == dark
    driver.find_element("id", "theme").click()
    assert driver.execute_script(ground) == light


def test_codes_as_whitened_and_in_other_orders(show, report, members):
    driver = show(report)
    before = code(driver, 0).value_of_css_property("background-image")
    driver.find_element("id", "whitened").click()
    assert code(driver, 0).value_of_css_property("background-image") != before
    driver.execute_script("const s = document.getElementById('order'); s.value = 'size'; s.dispatchEvent(new Event('change'))")
    order = driver.execute_script("return [...document.querySelectorAll('#mosaic .code')].map((e) => Number(e.dataset.code))")
    sizes = [len(members[number]) for number in order]
    assert sizes == sorted(sizes, reverse=True)
    assert code(driver, 0).value_of_css_property("image-rendering") == "pixelated"


def test_pictures_have_words(show, report):
    driver = show(report)
    silent = driver.execute_script(
        "return [...document.querySelectorAll('img, [role=img]')].filter((e) => !(e.alt || e.ariaLabel)).length"
    )
    assert silent == 0


def test_it_prints(show, report):
    import base64

    driver = show(report)
    pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert pdf.startswith(b"%PDF")


def test_without_images_or_clusters(show, model, tmp_path):
    plain = model[0][0].reselect(n_codes=48, selection="random")
    write_report(plain, tmp_path / "plain.html")
    driver = show((tmp_path / "plain.html").as_uri(), 375)
    assert driver.get_log("browser") == []
    code(driver, 3).click()
    assert driver.find_element("id", "code-title").text == "Code 3"
    assert "keeps all" in driver.find_element("id", "panel").text
    assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
