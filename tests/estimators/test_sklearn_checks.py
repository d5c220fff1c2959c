"""scikit-learn's own checks, all of them, with no expected failure."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from poolwise import AffinitySelector, LinearSVM, LinearSVMCV, PooledFeatures

SMALL = {"n_codes": 2, "n_patches": 500, "max_iter": 5}  # the checks' data have as few as ten rows of two numbers


@parametrize_with_checks(
    [
        PooledFeatures(**SMALL),
        PooledFeatures.preset("coates2011", **{**SMALL, "n_codes": 1}),  # two numbers less their mean: one direction
        PooledFeatures(**SMALL, encoder="triangle", pool="rms", grid=[1, 2], scale=None, n_jobs=1),
        PooledFeatures(**{**SMALL, "n_codes": 1}, n_candidates=2),
        PooledFeatures.preset("coates2011", **{**SMALL, "n_codes": 1}, n_candidates=1, selection="greedy", transform="pca"),
        PooledFeatures(**{**SMALL, "n_codes": 1}, n_candidates=2, encoder="vq", selection="kmedoids", transform=None),
        AffinitySelector(),
        AffinitySelector(selection="greedy", n_jobs=1),
        LinearSVM(),
        LinearSVM(C=1.0, n_jobs=1),
        LinearSVMCV(gammas=3, cv=3),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)
