"""
Tuning, and the frontier of accuracy and cost
=============================================

`tune` tries settings on images that it holds out of yours: many settings on few images, then few on more. The
frontier shows what a cheaper setting loses.
"""

# %%
# Twelve trials
# -------------
# With `trials=` no clock decides, so that the result is the same everywhere. Without it the search takes two minutes,
# and finds more.

import matplotlib.pyplot as plt

from poolwise import LinearSVM, tune
from poolwise.datasets import load_photos

train, test = load_photos(subset="train"), load_photos(subset="test")
images, labels = train.images[::4], train.target[::4]
search = tune(images, labels, n_codes=32, trials=12, random_state=0)

for trial in search.frontier:
    print(f"{100 * trial.score:5.1f} ± {100 * trial.error:.1f} %  {trial.milliseconds:6.3f} ms  {trial.setting.words}")

# %%
# The frontier
# ------------

fig, ax = plt.subplots(figsize=(7, 4.2))
ax.errorbar(
    [trial.milliseconds for trial in search.trials],
    [100 * trial.score for trial in search.trials],
    [100 * trial.error for trial in search.trials],
    fmt="o",
    color="0.7",
    label="tried",
)
ax.plot(
    [trial.milliseconds for trial in search.frontier], [100 * trial.score for trial in search.frontier], "o-", label="frontier"
)
ax.plot(search.chosen.milliseconds, 100 * search.chosen.score, "*", ms=16, color="tab:orange", label="chosen")
ax.set(xscale="log", xlabel="milliseconds per image", ylabel="held-out accuracy, %")
ax.legend()
fig.tight_layout()

# %%
# What mattered
# -------------
# The difference that a value makes on otherwise equal settings. Below one standard error it is called no difference.

for effect in search.effects:
    word = "mattered" if effect.matters else "did not "
    points = f"{100 * effect.difference:+.1f} ± {100 * effect.error:.1f}"
    print(f"{word}  {effect.factor}: {effect.value} against {effect.reference}, {points}")

# %%
# The winner, fitted to all training images
# -----------------------------------------
# Test images are other regions of the same pictures; those held out above came from the regions learned from, so they
# are easier.


def accuracy(model):
    X = model.fit_transform(train.images, train.target)
    return LinearSVM().fit(X, train.target).score(model.transform(test.images), test.target)


tuned = accuracy(search.best.set_params(n_patches=50_000, random_state=0))
print(f"held out {search.chosen.score:.3f}, test {tuned:.3f}: {search.chosen.setting.words}")
