"""`LinearSVMCV`: the same with γ chosen by held-out folds."""

from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from poolwise.engine.shards import Shards
from poolwise.engine.threads import Threads
from poolwise.estimators.checks import unchanged_on_failure
from poolwise.estimators.keeping import kept_fit
from poolwise.estimators.linear_svm import GAMMA, LinearClassifier
from poolwise.support.parameters import AUTO, Number, Whole
from poolwise.support.progress import Stages
from poolwise.support.types import Array
from poolwise.support.warning import warn_user
from poolwise.svm import CentredRows, HeldOut, make_space, one_vs_all, solve_in_groups
from poolwise.svm.gamma import LEAST_GAMMA, best_of, better_edge, climb, extend, guess_gamma, rising_edge
from poolwise.svm.probability import fit_slope, probabilities
from poolwise.svm.spectrum import spectral_gamma, step_near

FOLDS = 5
_MOST_GAMMAS = 1000
_FOLD_TOL = 1e-4  # of folds: margins of held-out samples need no more
_MANY_SAMPLES = 20_000  # a fifth of more has a standard error below 0.7 points


class LinearSVMCV(LinearClassifier):
    """`LinearSVM` with γ chosen by held-out folds, and then learned from all samples.

    The problems of all folds and classes are rows of the same products, solved for one γ after the other, the largest first,
    each from the last one's result. The features' covariance is computed once for all of them, and factored once for each γ.

    Parameters
    ----------
    gammas : "auto", int or sequence of float, default="auto"
        The values of γ to try, or how many between 1e-4 and 1. "auto": about the one that `LinearSVM` takes, √10 times more and
        less, and on towards the better side until the best lies inside, or gains less than a quarter of the standard error of
        its accuracy over the others. Of a number of values, where the best is the first or last, the range is extended in the
        same way; for given values, a warning reports it.
    cv : "auto", int, splitter or iterable of (train, test), default="auto"
        Folds, as everywhere in scikit-learn; an int means stratified folds. "auto": five of them; of more than 20,000 samples
        one fifth is held out, once, which says as much in a fifth of the time.
    class_weight : dict, "balanced" or None, default=None
        Factors of the loss of a class's own samples, as in LinearSVC: that of class c multiplies the loss of its
        samples in the problem of c against the others. "balanced": n / (classes · samples of c).
    tol : float, default=1e-5
        Rounds stop when, for every problem, the gradient is at most tol times that at w = 0, and the objective is within
        tol times itself of the minimum. Folds, which only choose γ, stop at 1e-4.
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
    held_out_ : (float, float)
        Accuracy on held-out samples with that γ, and its standard error, as if it had been measured once on all of them. A
        little high, since γ was chosen on them.
    slope_ : float
        How `predict_proba` turns margins into probabilities.
    coef_, intercept_, classes_, objective_, n_iter_, converged_, n_features_in_, feature_names_in_
        As in `LinearSVM`, of the model learned from all samples with `gamma_`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from poolwise import LinearSVMCV
    >>> X, y = load_iris(return_X_y=True)
    >>> svm = LinearSVMCV().fit(X, y)
    >>> accuracy, error = svm.held_out_
    >>> accuracy > 0.9, error < 0.02
    (True, True)
    >>> int(svm.predict_proba(X[:1]).argmax())
    0
    """

    def __init__(
        self,
        gammas: Any = "auto",
        *,
        cv: Any = AUTO,
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
            total, weight = weight, weight / weight.max()
            gammas, folds = self._gammas(self.gammas), self._folds(X, label, weight)
            searched = isinstance(self.gammas, str | int | np.integer)
            stages = Stages(bool(self.verbose), "LinearSVMCV ")
            beside = [self.classes_, label, weight, *[part for fold in folds for part in fold]]
            with kept_fit(self, X, beside, without=["cv"]), Threads(self.n_jobs) as engine:
                with stages.stage("covariance"):
                    rows = CentredRows(X, weight, engine)
                    space = make_space(rows)
                factors = np.array([self._class_weights(label[train], weight[train]) for train, _ in folds])
                with stages.stage("folds") as update:
                    held_out = HeldOut(space, label, weight, factors, folds, max(self.tol, _FOLD_TOL), self.max_iter, update)
                    if len(gammas) == 0:
                        gammas, scores = climb(held_out.scores_of, self._start(rows, label, total), held_out.error_of)
                    else:
                        scores = held_out.scores_of(gammas)
                        if searched and len(gammas) > 1:
                            gammas, scores = extend(held_out.scores_of, gammas, scores, held_out.error_of)
                    best = best_of(scores)
                    self.gammas_, self.scores_, self.gamma_ = gammas, scores, float(gammas[best])
                    self.held_out_ = held_out.accuracy(self.gamma_)
                    tested = held_out.tested
                    self.slope_ = fit_slope(held_out.margins, label[tested], weight[tested])
                with stages.stage("svm", self.max_iter) as update:
                    problems = one_vs_all(label, self._class_weights(label, weight), weight[None])
                    found = solve_in_groups(space, problems, self.gamma_, self.tol, self.max_iter, update)
            if held_out.unconverged:
                warn_user(
                    f"{held_out.unconverged} of the {scores.size} fits on folds did not converge; their scores may be off. "
                    f"Raise max_iter.",
                    ConvergenceWarning,
                )
            edge = rising_edge(gammas, scores, held_out.error_of) if searched else better_edge(scores)
            if edge is not None:
                size, more = ("largest", "larger") if best else ("smallest", "smaller")
                advice = "rescale the features, or give gammas" if len(self._gammas(self.gammas)) == 0 else "try gammas='auto'"
                warn_user(
                    f"the best gamma, {self.gamma_:g}, is the {size} of those tried; a {more} one may be better: {advice}."
                )
            self._store(found)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, (n, d) to (n, classes): a softmax of the margins, its slope from held-out samples."""
        F = self.decision_function(X)
        if not hasattr(self, "slope_"):
            raise AttributeError("this model was saved before predict_proba existed; fit it again")
        return probabilities(F[:, None] if F.ndim == 1 else F, self.slope_)

    @classmethod
    def check_parameters(cls, params: dict[str, Any]) -> None:
        """As in `LinearClassifier`."""
        super().check_parameters(params)
        cls._gammas(params["gammas"])

    @staticmethod
    def _gammas(given: Any) -> Array:
        """(G,) ascending; none for "auto"."""
        if isinstance(given, str) and given == "auto":
            return np.empty(0)
        if isinstance(given, int | np.integer) and not isinstance(given, bool):
            return (
                np.geomspace(1e-4, 1, Whole(1, most=_MOST_GAMMAS).check("gammas", given)) if given != 1 else np.array([GAMMA])
            )
        is_list = hasattr(given, "__len__") and not isinstance(given, str)
        values = [Number(LEAST_GAMMA).check("gammas", gamma) for gamma in given] if is_list else []
        if not values:
            raise ValueError(f"gammas must be 'auto', a whole number or a sequence of positive numbers; got {given!r}")
        return np.unique(values)

    def _start(self, rows: CentredRows, label: Array, weight: Array) -> float:
        """Where the search begins: a whole number of steps from γ₀, near what the spectrum says."""
        classes = len(self.classes_)
        return step_near(spectral_gamma(rows, label, weight, classes), guess_gamma(rows, float(weight.sum()), classes))

    def _folds(self, X: Array | Shards, label: Array, weight: Array) -> list[tuple[Array, Array]]:
        """(train, test) indices of each fold, with two classes to learn from and something to test on."""
        cv = check_cv(FOLDS if _is_auto(self.cv) else self.cv, label, classifier=True)
        folds = [
            (_indices(train), _indices(test))
            for train, test in cv.split(np.zeros(len(label)) if isinstance(X, Shards) else X, label)
        ]
        if _is_auto(self.cv) and len(label) > _MANY_SAMPLES:
            folds = folds[:1]
        if not folds:
            raise ValueError(
                f"cv={self.cv!r} gives no folds; expected a number, a splitter, or pairs of train and test indices"
            )
        for number, (train, test) in enumerate(folds):
            if not weight[test].sum() > 0:
                raise ValueError(f"fold {number} of cv={self.cv!r} has no sample with a weight to test on")
            if len(np.unique(label[train][weight[train] > 0])) < 2:
                raise ValueError(
                    f"fold {number} of cv={self.cv!r} has fewer than two classes to learn from; give at least two samples of "
                    f"two classes, or other folds"
                )
        return folds


def _is_auto(cv: Any) -> bool:
    return isinstance(cv, str) and cv == AUTO


def _indices(part: Any) -> Array:
    """Row numbers, of numbers or of a mask."""
    part = np.asarray(part)
    return np.flatnonzero(part) if part.dtype == np.bool_ else part.astype(np.intp)
