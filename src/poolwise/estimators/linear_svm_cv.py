"""`LinearSVMCV`: the same with γ chosen by held-out folds."""

from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from poolwise.engine.threads import Threads
from poolwise.estimators.checks import unchanged_on_failure
from poolwise.estimators.linear_svm import GAMMA, LEAST_GAMMA, LinearClassifier
from poolwise.support.parameters import Number, Whole
from poolwise.support.progress import Stages
from poolwise.support.types import Array
from poolwise.support.warning import warn_user
from poolwise.svm import CentredRows, held_out_scores, make_space, one_vs_all, solve_in_groups


class LinearSVMCV(LinearClassifier):
    """`LinearSVM` with γ chosen by held-out folds, and then learned from all samples.

    The problems of all folds and classes are rows of the same products, solved for one γ after the other, the largest first,
    each from the last one's result. The features' covariance is computed once for all of them, and factored once for each γ.

    Parameters
    ----------
    gammas : int or sequence of float, default=9
        The values of γ to try, or how many between 1e-4 and 1.
    cv : int, splitter or iterable of (train, test), default=5
        Folds, as everywhere in scikit-learn; an int means stratified folds.
    class_weight : dict, "balanced" or None, default=None
        Factors of the loss of a class's own samples, as in LinearSVC: that of class c multiplies the loss of its
        samples in the problem of c against the others. "balanced": n / (classes · samples of c).
    tol : float, default=1e-5
        Rounds stop when, for every problem, the gradient is at most tol times that at w = 0, and the objective is within
        tol times itself of the minimum.
    max_iter : int, default=1000
        Most rounds; some dozens are usual.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.
    verbose : int, default=0
        Show progress on stderr.

    Attributes
    ----------
    gammas_ : (G,) float64
        What was tried, ascending.
    scores_ : (G, folds) float64
        Accuracy on the held-out samples, weighted by sample_weight: the curve.
    gamma_ : float
        The best on average; the largest of equals.
    coef_, intercept_, classes_, objective_, n_iter_, converged_, n_features_in_, feature_names_in_
        As in `LinearSVM`, of the model learned from all samples with `gamma_`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from poolwise import LinearSVMCV
    >>> X, y = load_iris(return_X_y=True)
    >>> svm = LinearSVMCV(gammas=[1e-4, 1e-2, 1]).fit(X, y)
    >>> svm.scores_.shape, svm.gamma_
    ((3, 5), 0.0001)
    """

    def __init__(
        self,
        gammas: Any = 9,
        *,
        cv: Any = 5,
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-5,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.gammas = gammas
        self.cv = cv
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose γ and learn; X, y and sample_weight as in `LinearSVM.fit`."""
        with unchanged_on_failure(self):
            X, label, weight = self._checked(X, y, sample_weight)
            weight = weight / weight.max()
            gammas, folds = self._gammas(self.gammas), self._folds(X, label, weight)
            stages = Stages(bool(self.verbose), "LinearSVMCV ")
            with Threads(self.n_jobs) as engine:
                with stages.stage("covariance"):
                    space = make_space(CentredRows(X, weight, engine))
                with stages.stage("folds", len(gammas) * len(folds) * len(self.classes_)) as update:
                    factors = np.array([self._class_weights(label[train], weight[train]) for train, _ in folds])
                    scores, restless = held_out_scores(
                        space, label, weight, factors, folds, gammas, self.tol, self.max_iter, update
                    )
                mean = scores.mean(axis=1)
                self.gammas_, self.scores_ = gammas, scores
                self.gamma_ = float(gammas[np.flatnonzero(mean >= mean.max() - 1e-12)[-1]])
                with stages.stage("svm", self.max_iter) as update:
                    problems = one_vs_all(label, self._class_weights(label, weight), weight[None])
                    found = solve_in_groups(space, problems, self.gamma_, self.tol, self.max_iter, update)
            if restless:
                warn_user(
                    f"{restless} of the {scores.size} fits on folds did not converge; their scores may be off. Raise max_iter.",
                    ConvergenceWarning,
                )
            self._store(found)
        return self

    @classmethod
    def check_parameters(cls, params: dict[str, Any]) -> None:
        """As in `LinearClassifier`."""
        super().check_parameters(params)
        cls._gammas(params["gammas"])

    @staticmethod
    def _gammas(given: Any) -> Array:
        """(G,) ascending."""
        if isinstance(given, int | np.integer) and not isinstance(given, bool):
            return np.geomspace(1e-4, 1, Whole(1).check("gammas", given)) if given != 1 else np.array([GAMMA])
        values = [Number(LEAST_GAMMA).check("gammas", gamma) for gamma in given] if hasattr(given, "__len__") else []
        if not values:
            raise ValueError(f"gammas must be a whole number or a sequence of positive numbers; got {given!r}")
        return np.unique(values)

    def _folds(self, X: Array, label: Array, weight: Array) -> list[tuple[Array, Array]]:
        """(train, test) indices of each fold, with two classes to learn from and something to test on."""
        folds = [(_indices(train), _indices(test)) for train, test in check_cv(self.cv, label, classifier=True).split(X, label)]
        if not folds:
            raise ValueError(
                f"cv={self.cv!r} gives no folds; expected a number, a splitter, or pairs of train and test indices"
            )
        for number, (train, test) in enumerate(folds):
            if not weight[test].sum() > 0:
                raise ValueError(f"fold {number} of cv={self.cv!r} has no sample with a weight to test on")
            if len(np.unique(label[train][weight[train] > 0])) < 2:
                raise ValueError(
                    f"fold {number} of cv={self.cv!r} has fewer than two classes to learn from; give stratified folds, as cv=5"
                )
        return folds


def _indices(part: Any) -> Array:
    """Row numbers, of numbers or of a mask."""
    part = np.asarray(part)
    return np.flatnonzero(part) if part.dtype == np.bool_ else part.astype(np.intp)
