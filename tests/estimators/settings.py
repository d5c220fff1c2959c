"""The paper's parts for tests that are not about defaults, and settings under which a fit takes a fraction of a second."""

from poolwise import KMeans, Pool, PooledFeatures, Threshold

PLAIN = {
    "n_candidates": None,
    "encoder": Threshold(0.25, two_sided=False),
    "pooling": Pool("average", grid=2),
    "selection": "affinity",
    "symmetry": None,
}
QUICK = {"n_codes": 8, "n_patches": 3000, "dictionary": KMeans(max_iter=5), "random_state": 0}
QUICK_PRESET = {"n_codes": 8, "n_patches": 3000, "dictionary__max_iter": 5, "random_state": 0}  # a preset keeps its dictionary


def paper_features(*sizes, **settings):
    """PooledFeatures with the paper's parts where no others are given: paper_features(n_codes, n_candidates, ...)."""
    return PooledFeatures(**{**PLAIN, **dict(zip(("n_codes", "n_candidates"), sizes, strict=False)), **settings})
