"""Settings under which a fit takes a fraction of a second."""

QUICK = {"n_codes": 8, "n_patches": 3000, "max_iter": 5, "random_state": 0}
