"""`tune`: budgets, the same result on any number of threads, interrupts, stores, limits and errors."""

import warnings

import numpy as np
import pytest

import poolwise
from poolwise import LinearSVM, open_images, tune
from poolwise.engine.threads import Threads
from poolwise.support.progress import Stages
from poolwise.tuning import evaluate
from poolwise.tuning.budget import Budget
from poolwise.tuning.evaluate import compile_loops
from poolwise.tuning.limits import Limits
from poolwise.tuning.search import search_task
from poolwise.tuning.space import make_space
from poolwise.tuning.task import as_task

TRIALS = 11


@pytest.fixture(scope="module")
def found(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    return tune(*small, n_codes=8, trials=TRIALS, n_jobs=1, store=folder), folder


def same(a, b):
    assert [(one.setting, one.rung, one.score) for one in a.trials] == [(one.setting, one.rung, one.score) for one in b.trials]
    for one, other in zip(a.trials, b.trials, strict=True):
        np.testing.assert_array_equal(one.each, other.each)
    assert a.chosen.setting == b.chosen.setting
    assert [(e.factor, e.value, e.difference) for e in a.effects] == [(e.factor, e.value, e.difference) for e in b.effects]


def test_the_number_of_trials_is_the_budget(found):
    search = found[0]
    assert len(search.trials) == TRIALS
    assert len({(one.setting, one.rung) for one in search.trials}) == TRIALS
    assert {one.setting.is_second_order for one in search.trials} == {False, True}
    assert not search.interrupted
    for one in search.trials:
        assert one.score == pytest.approx(one.each.mean())
        assert one.error == pytest.approx(one.each.std(ddof=1) / len(one.each) ** 0.5)
        assert len(one.each) == 75  # few images: five folds, each image held out once
    assert search.chosen in search.trials
    assert search.ranking[0] is search.chosen
    assert all(one.milliseconds > 0 for one in search.trials)


def test_threads_change_nothing(small, found):
    same(tune(*small, n_codes=8, trials=TRIALS, n_jobs=2), found[0])


def test_the_best_is_an_estimator_that_learns_something(small, found):
    images, labels = small
    features = found[0].best
    assert not hasattr(features, "layer_")
    features.set_params(n_patches=3000)
    X = features.fit_transform(images[::2], labels[::2])
    assert LinearSVM().fit(X, labels[::2]).score(features.transform(images[1::2]), labels[1::2]) > 0.6


def test_a_store_resumes_without_computing_again(small, found, monkeypatch):
    search, folder = found

    def nothing(*unused, **more):
        raise AssertionError("computed again")

    monkeypatch.setattr(evaluate, "learn_bank", nothing)
    same(tune(*small, n_codes=8, trials=TRIALS, store=folder), search)


def test_an_interrupt_keeps_the_best_and_the_store_goes_on(small, found, monkeypatch, tmp_path):
    real, calls = evaluate.classify_by_ridge, []

    def ridge(*given, **more):
        calls.append(1)
        if len(calls) == 22:  # five folds a trial
            raise KeyboardInterrupt
        return real(*given, **more)

    monkeypatch.setattr(evaluate, "classify_by_ridge", ridge)
    search = tune(*small, n_codes=8, trials=TRIALS, store=tmp_path)
    assert search.interrupted
    assert 0 < len(search.trials) <= 4
    assert search.chosen.score == max(one.score for one in search.trials)
    done = len(search.trials)
    calls.extend([1] * 100)
    before = len(calls)
    same(tune(*small, n_codes=8, trials=TRIALS, store=tmp_path), found[0])
    exact = sum(one.rung.exact for one in found[0].trials)  # by the SVM
    assert len(calls) - before == 5 * (TRIALS - done - exact)


def test_an_interrupt_before_the_first_trial_is_one(small, monkeypatch):
    def interrupt(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate, "learn_bank", interrupt)
    with pytest.raises(KeyboardInterrupt):
        tune(*small, n_codes=8, trials=3)


def searched(task, budget, limits=None):
    return search_task(task, 8, budget, limits or Limits(), random_state=0, n_jobs=1, store=None, stages=Stages(False))


def test_seconds_end_the_search_between_trials(small):
    now = [0.0]

    def clock():
        now[0] += 0.001
        return now[0]

    few = len(searched(as_task(*small), Budget(0.05, None, clock)).trials)
    now[0] = 0.0
    many = len(searched(as_task(*small), Budget(2.0, None, clock)).trials)
    assert 1 <= few < many < 200  # there are more settings than that


@pytest.mark.parametrize("trials", [1, 2, 3])
def test_very_few_trials_are_a_budget_too(small, trials):
    search = tune(*small, n_codes=4, trials=trials)
    assert len(search.trials) == trials
    assert not search.trials[0].setting.is_second_order


def test_what_memory_does_not_allow_is_left_out_and_the_search_goes_on(small, monkeypatch):
    real = evaluate.learn_bank

    def learn_bank(setting, *given, **more):
        if setting.is_second_order:
            raise MemoryError("the covariance needs more than there is")
        return real(setting, *given, **more)

    monkeypatch.setattr(evaluate, "learn_bank", learn_bank)
    search = tune(*small, n_codes=4, trials=20)
    assert search.trials
    assert not any(one.setting.is_second_order for one in search.trials)
    assert "the covariance needs more than there is" in {one.reason for one in search.left_out}


def test_images_that_are_too_small_say_so(small):
    with pytest.raises(ValueError, match="images of 1×1 pixels with 1 channel are too small"):
        tune(small[0][:, :1, :1, :1], small[1], n_codes=4, trials=2)


def test_seconds_and_trials_together(small):
    assert len(tune(*small, n_codes=8, seconds=500, trials=3).trials) == 3


def test_without_an_end_there_is_no_search(small):
    with pytest.raises(ValueError, match="give seconds, trials, or both"):
        tune(*small, n_codes=8, seconds=None)


def test_a_limit_of_features_leaves_settings_out(small):
    search = tune(*small, n_codes=8, trials=6, max_features=40)
    assert all(one.features <= 40 for one in search.trials)
    assert search.left_out
    assert all(one.setting.n_features > 40 and "more than 40" in one.reason for one in search.left_out)


def test_a_limit_of_milliseconds_leaves_settings_out(small, monkeypatch):
    def pretended(setting, images, engine):
        return 5.0 if setting.two_sided or setting.is_second_order else 0.5

    monkeypatch.setattr("poolwise.tuning.phases.measured_milliseconds", pretended)
    monkeypatch.setattr("poolwise.tuning.phases.Phases._estimate", lambda self, setting: 1.0)
    search = tune(*small, n_codes=8, trials=5, milliseconds=1.0)
    assert not any(one.setting.two_sided or one.setting.is_second_order for one in search.trials)
    assert "5 ms per image, more than 1" in {one.reason for one in search.left_out}
    with pytest.raises(ValueError, match=r"no setting could be tried: .* ms per image"):
        tune(*small, n_codes=8, trials=2, milliseconds=0.1)


def test_what_does_not_fit_into_memory_is_left_out_and_projected_instead(small, monkeypatch):
    limit = 20_000  # bytes: four codes of second order have 40 numbers on 2×2 cells, which take 24,000
    monkeypatch.setattr("poolwise.tuning.limits.physical_bytes", lambda: limit / 0.4)
    monkeypatch.setattr("poolwise.tuning.limits.fit_bytes", lambda setting, n: 4 * n * setting.n_features * 2)
    search = tune(*small, n_codes=16, trials=8)
    assert all(8 * 75 * one.features <= limit for one in search.trials)
    assert any("GB" in one.reason and one.setting.is_second_order for one in search.left_out)
    projected = [one for one in search.trials if one.setting.directions is not None]
    assert projected
    assert all(one.features == 4 * one.setting.directions for one in projected)
    assert max(one.score for one in projected) > 0.25  # of five classes


def test_numbers_are_predicted_by_r2(small, numbers):
    search = tune(small[0], numbers, n_codes=8, trials=6)
    assert search.numbers
    assert search.chosen.score > 0.3
    assert search.to_json()["score"] == "r2"
    for one in search.trials:  # each is 1 - squared error / variance, so that its mean is R² and worse than 1
        assert one.score == pytest.approx(one.each.mean())
        assert one.score < 1


def test_classes_of_one_and_two_images_are_no_obstacle(small):
    images, labels = small
    labels = np.array(labels, dtype="<U20")
    labels[0], labels[1:3] = "alone", "two"
    assert len(tune(images, labels, n_codes=4, trials=2).trials) == 2


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, r"needs labels.*one folder per class"),
        (["a"] * 75, "all images have one label, 'a'"),
        (np.full(75, 0.5), "the same for all images"),
        (np.r_[np.nan, np.arange(74) + 0.5], "missing"),
        ([None] + ["a"] * 74, "missing"),
        (["a"] * 74, r"labels of shape \(74,\) for 75 images"),
        (np.arange(75), "every class has one image alone.* with --target"),
        (np.array([1, "a", *["b"] * 73], object), "all names, or all numbers"),
    ],
)
def test_labels_that_cannot_be_learned_are_errors(small, labels, message):
    with pytest.raises(ValueError, match=message):
        tune(small[0], labels, n_codes=4, trials=2)


def test_other_errors_say_what_is_wrong(small):
    images, labels = small
    with pytest.raises(ValueError, match="n_codes"):
        tune(images, labels, n_codes=0, trials=2)
    with pytest.raises(ValueError, match="trials"):
        tune(images, labels, n_codes=4, trials=0)
    with pytest.raises(ValueError, match="seconds"):
        tune(images, labels, n_codes=4, seconds="long")
    with pytest.raises(ValueError, match="expected images of shape"):
        tune(images[0, 0], labels, n_codes=4, trials=2)
    with pytest.raises(ValueError, match="NaN or infinite"):
        tune(np.where(images > 250, np.nan, images), labels, n_codes=4, trials=2)


def test_progress_names_phase_best_and_what_is_left(small, capsys, monkeypatch):
    monkeypatch.setattr("poolwise.support.progress._QUIET_SECONDS", 0.0)
    poolwise.tune(*small, n_codes=4, trials=4, verbose=1)
    shown = capsys.readouterr().err
    assert "tune views" in shown
    assert "best " in shown
    assert "trials left" in shown


def test_sources_have_labels_of_their_own(small):
    images, labels = small
    source = poolwise.open_images(images, labels=labels)
    assert len(tune(source, n_codes=4, trials=2).trials) == 2


def test_the_last_rung_is_scored_by_the_svm(found):
    last = max((one.rung for one in found[0].trials), key=lambda rung: rung.size)
    assert last.exact
    assert found[0].chosen.rung == last
    assert not any(one.rung.exact for one in found[0].trials if one.rung != last)


def test_time_to_compile_is_not_part_of_the_budget(small, monkeypatch):
    """Whatever compiling takes, the search has all of its seconds."""
    compiled, started = [], []
    monkeypatch.setattr("poolwise.tuning.search.compile_loops", lambda task, engine: compiled.append(len(started)))
    monkeypatch.setattr("poolwise.tuning.budget.Budget.start", lambda self: started.append(1))
    monkeypatch.setattr("poolwise.tuning.phases.Phases.run", lambda self: None)
    with pytest.raises(ValueError, match="no setting could be tried"):
        tune(*small, n_codes=8, seconds=5)
    assert (compiled, len(started)) == ([1], 2)


def test_every_kind_of_trial_is_compiled(small):
    with Threads(1) as engine:
        compile_loops(as_task(*small), engine=engine)
        compile_loops(as_task(small[0][::9, :2, :2], small[1][::9]), engine=engine)  # tiny images too


def test_second_order_multiplies_no_more_outputs_than_codes():
    space = make_space((32, 32, 3), 200)
    fifty = space.base_of("second").but(two_sided=True)
    beside = space.beside(fifty, "n_codes")
    assert {(one.n_codes, one.two_sided) for one in beside} == {(100, True), (100, False), (200, False)}
    assert all(one.encoder.sides * one.n_codes <= 200 for one in space.all_of(space.values["second"]))


@pytest.fixture(scope="module")
def holed(small):
    """The photos with pixels without data, which hold 0 in a band: a corner, a half, a whole image."""
    images = np.maximum(small[0], 1).astype(np.uint16) * 30
    missing = np.zeros(images.shape[:3], np.bool_)
    missing[::4, :, 10:] = missing[1, :3, :5] = missing[2] = True
    images[missing, 1] = 0
    return images, missing, small[1]


def test_pixels_without_data_are_left_out_of_every_trial(holed, tmp_path):
    """What they hold changes nothing, however the images are given; what the rest holds does."""
    images, missing, labels = holed
    few = {"n_codes": 6, "trials": 6, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is said of the second image by every trial
        first = tune(open_images(images, labels=labels, nodata=0), **few)
    searches = [first, tune(images, labels, nodata=0, **few)]
    garbage = images.copy()
    garbage[missing] = 9999
    garbage[missing, 0] = 0
    searches.append(tune(garbage, labels, nodata=0, **few))
    for search in searches[1:]:
        same(search, searches[0])
    assert {search.best.nodata for search in searches} == {0.0}
    unknown = tune(images, labels, **few)
    assert unknown.best.nodata is None
    assert any((a.each != b.each).any() for a, b in zip(unknown.trials, searches[0].trials, strict=True))
    with pytest.warns(UserWarning, match="1 of 75 images have no patch"):
        X = searches[0].best.set_params(n_patches=3000).fit(images, labels).transform(images)
    assert np.isfinite(X).all()


def test_a_store_knows_what_has_no_data(holed, tmp_path):
    images, _, labels = holed
    whole = np.maximum(images, 1)
    tune(whole, labels, n_codes=4, trials=1, n_jobs=1, store=tmp_path)
    with pytest.raises(ValueError, match="another search"):
        tune(whole, labels, n_codes=4, trials=1, n_jobs=1, nodata=0, store=tmp_path)


def test_missing_pixels_without_nodata_and_two_of_them(holed):
    images, missing, labels = holed
    real = np.where(missing[..., None], np.nan, images)
    for given in (real, open_images(real)):
        with pytest.raises(ValueError, match="nodata='nan'"):
            tune(given, labels, n_codes=4, trials=1)
    with pytest.raises(ValueError, match=r"opened with nodata=0\.0, but the features have nodata=7\.0"):
        tune(open_images(images, nodata=0), labels, n_codes=4, nodata=7, trials=1)
