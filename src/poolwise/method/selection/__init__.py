"""The ways to choose K of M codes from how they respond after pooling (stage 10 of the method).

A way is a function (C, K, *, rng, engine, update) -> Selection; a new one is a function in a file here and a line in WAYS.
Which when: `affinity` is the paper's and as good as any; `kmedoids` has the same objective and needs no messages; `greedy`
explains the most variance and is the fastest above a few hundred codes; `random` is what any claim must be compared with.

C : (M, M) covariance of pooled activations
"""

from typing import Literal, NamedTuple

WayName = Literal["affinity", "kmedoids", "greedy", "cholesky", "random", "authors"]


class Way(NamedTuple):
    """title : for "200 of 1600 by ..."    module, function : where it is, imported when it is used"""

    title: str
    module: str
    function: str


WAYS: dict[str, Way] = {
    "affinity": Way("affinity propagation", "affinity", "affinity"),
    "kmedoids": Way("K-medoids", "medoids", "kmedoids"),
    "greedy": Way("greedy selection", "pivots", "greedy"),
    "cholesky": Way("pivoted Cholesky", "pivots", "cholesky"),
    "random": Way("chance", "pivots", "uniform"),
    "authors": Way("the authors' affinity propagation", "authors", "authors"),
}
