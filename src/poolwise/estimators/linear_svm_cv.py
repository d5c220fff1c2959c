"""`LinearSVMCV`: the same with γ chosen by held-out folds."""

from typing import Any, Self

import numpy as np
from sklearn.model_selection import check_cv

from poolwise.arrays import Array
from poolwise.engine import Threads
from poolwise.estimators.images import check_real, check_whole
from poolwise.estimators.learning import unchanged_on_failure
from poolwise.estimators.linear_svm import GAMMA, LEAST_GAMMA, PARAMETERS, LinearClassifier
from poolwise.progress import Stages
from poolwise.svm import CentredRows, held_out_scores, make_space, one_vs_all, solve_in_groups


class LinearSVMCV(LinearClassifier):
    __doc__ = f"""`LinearSVM` with γ chosen by held-out folds, and then learned from all samples.

    The problems of all folds and classes are rows of the same products, solved for one γ after the other, the largest first,
    each from the last one's result. The features' covariance is computed once for all of them, and factored once for each γ.

    Parameters
    ----------
    gammas : int or sequence of float, default=9
        The values of γ to try, or how many between 1e-4 and 1.
    cv : int, splitter or iterable of (train, test), default=5
        Folds, as everywhere in scikit-learn; an int means stratified folds.{PARAMETERS}

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
            gammas, factors = self._gammas(self.gammas), self._class_weights(label, weight)
            folds = self._folds(X, label, weight)
            stages = Stages(bool(self.verbose), "LinearSVMCV ")
            with Threads(self.n_jobs) as engine:
                with stages.stage("covariance"):
                    space = make_space(CentredRows(X, weight, engine))
                with stages.stage("folds", len(gammas) * len(folds) * len(self.classes_)) as update:
                    scores = held_out_scores(space, label, weight, factors, folds, gammas, self.tol, self.max_iter, update)
                mean = scores.mean(axis=1)
                self.gammas_, self.scores_ = gammas, scores
                self.gamma_ = float(gammas[np.flatnonzero(mean >= mean.max() - 1e-12)[-1]])
                with stages.stage("svm", self.max_iter) as update:
                    problems = one_vs_all(label, factors, weight[None])
                    found = solve_in_groups(space, problems, self.gamma_, self.tol, self.max_iter, update)
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
            return np.geomspace(1e-4, 1, check_whole("gammas", given, 1)) if given != 1 else np.array([GAMMA])
        try:
            values = [check_real("gammas", gamma, LEAST_GAMMA) for gamma in given]
        except TypeError:
            values = []
        if not values:
            raise ValueError(f"gammas must be a whole number or a sequence of positive numbers; got {given!r}")
        return np.unique(values)

    def _folds(self, X: Array, label: Array, weight: Array) -> list[tuple[Array, Array]]:
        """(train, test) indices of each fold, each side with weight."""
        folds = [
            (np.asarray(train), np.asarray(test)) for train, test in check_cv(self.cv, label, classifier=True).split(X, label)
        ]
        for number, (train, test) in enumerate(folds):
            if not (weight[train].sum() > 0 and weight[test].sum() > 0):
                raise ValueError(f"fold {number} of cv={self.cv!r} has no sample with a weight to learn from or to test on")
        return folds
