"""The ways to choose K of M codes from how they respond after pooling (stage 10 of the method).

A way is a function (C, K, *, rng, engine, update) -> Selection; a new one is a function in a file here and a line in WAYS.
"auto" is `supervised` with labels and `affinity` without. Which when: `supervised` is the most accurate where images have
labels; `affinity` is the paper's and as good as any without them; `kmedoids` has the same objective and needs no messages;
`greedy` explains the most variance and is the fastest above a few hundred codes; `random` is what any claim must be compared
with.

C : (M, M) covariance of pooled activations
"""

from typing import Literal, NamedTuple

WayName = Literal["auto", "affinity", "kmedoids", "greedy", "cholesky", "random", "authors", "supervised"]


class Way(NamedTuple):
    """title : for "200 of 1600 by ..."    module, function : where it is, imported when it is used

    needs_labels : it is also given what images and targets say together, `supervised.Labelled`
    """

    title: str
    module: str
    function: str
    needs_labels: bool = False


WAYS: dict[str, Way] = {
    "affinity": Way("affinity propagation", "affinity", "affinity"),
    "kmedoids": Way("K-medoids", "medoids", "kmedoids"),
    "greedy": Way("greedy selection", "pivots", "greedy"),
    "cholesky": Way("pivoted Cholesky", "pivots", "cholesky"),
    "random": Way("chance", "pivots", "uniform"),
    "authors": Way("the authors' affinity propagation", "authors", "authors"),
    "supervised": Way("supervised selection", "supervised", "supervised", needs_labels=True),
}
UNSUPERVISED = tuple(name for name, way in WAYS.items() if not way.needs_labels)
