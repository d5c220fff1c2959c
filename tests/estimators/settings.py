"""Settings under which a fit takes a fraction of a second."""

from poolwise import KMeans

QUICK = {"n_codes": 8, "n_patches": 3000, "dictionary": KMeans(max_iter=5), "random_state": 0}
QUICK_PRESET = {"n_codes": 8, "n_patches": 3000, "dictionary__max_iter": 5, "random_state": 0}  # a preset keeps its dictionary
