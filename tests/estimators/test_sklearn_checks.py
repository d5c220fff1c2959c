"""scikit-learn's own checks, all of them, with no expected failure."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from poolwise import (
    OMP,
    ZCA,
    AffinitySelector,
    KMeans,
    LinearSVM,
    LinearSVMCV,
    Pool,
    PooledFeatures,
    SecondOrder,
    StackedFeatures,
    Threshold,
)

# The checks' data have as few as ten rows of two numbers.
SMALL = {"n_codes": 2, "n_patches": 500, "dictionary": KMeans(max_iter=5)}
ONE = {**SMALL, "n_codes": 1}
COATES = {"n_codes": 1, "n_patches": 500, "dictionary__max_iter": 5}  # two numbers less their mean: one direction


@parametrize_with_checks(
    [
        PooledFeatures(**SMALL),
        PooledFeatures.preset("coates2011", **COATES),
        PooledFeatures(**SMALL, encoder="triangle", pooling=Pool("rms", grid=[1, 2]), scale=None, n_jobs=1),
        PooledFeatures(**ONE, n_candidates=2),
        PooledFeatures.preset("coates2011", **COATES, n_candidates=1, selection="greedy", projection="pca"),
        PooledFeatures(**ONE, n_candidates=2, encoder="nearest", selection="kmedoids", projection=None),
        PooledFeatures(**ONE, encoder=Threshold(alpha=0.1, two_sided=True), pooling="max", whitening=None, scale="cell"),
        PooledFeatures(**SMALL, encoder=Threshold((0.1, 0.5), True), symmetry="mirror"),
        PooledFeatures(**ONE, n_candidates=2, pooling=SecondOrder(1, "log"), whitening=ZCA(rank="auto")),
        PooledFeatures(**ONE, n_candidates=2, selection="supervised", whitening=ZCA(rank=1)),
        PooledFeatures(**SMALL, encoder=OMP(1), pooling=Pool("average", 1, root=True)),
        StackedFeatures([PooledFeatures(**ONE), PooledFeatures(1, None, dictionary="gaussian", n_patches=500)], map_cells=2),
        AffinitySelector(),
        AffinitySelector(selection="greedy", n_jobs=1),
        LinearSVM(),
        LinearSVM(C=1.0, n_jobs=1),
        LinearSVMCV(gammas=3, cv=3),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)
