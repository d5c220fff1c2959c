"""`LinearSVM`: the classifier of the paper, brought to its minimum."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from poolwise.engine.blas import thread_count
from poolwise.engine.shards import Shards
from poolwise.engine.threads import Threads
from poolwise.estimators.checks import check_width, checked_labels, unchanged_on_failure
from poolwise.estimators.keeping import kept_fit
from poolwise.support.parameters import NAME, Number, ParameterWarning, Whole
from poolwise.support.progress import Stages
from poolwise.support.types import Array
from poolwise.support.warning import warn_user
from poolwise.svm import CentredRows, Solution, make_space, one_vs_all, project, solve_in_groups
from poolwise.svm.gamma import LEAST_GAMMA, guess_gamma
from poolwise.svm.spectrum import spectral_gamma

GAMMA = 0.005
_MANY_FEATURES = 4  # times the samples
_SMALL_SHARE = 1 / 100  # of γ₀


class GammaWarning(ParameterWarning):
    """γ is far too small for samples with that many features."""


class LinearClassifier(ClassifierMixin, BaseEstimator):
    """What both share: checks, decisions, names of what was learned."""

    coef_: Array
    intercept_: Array
    classes_: Array
    class_weight: Any
    tol: float
    max_iter: int
    n_jobs: int | None
    verbose: int

    def decision_function(self, X: Any) -> Array:
        """Margins, (n, d) to (n, classes), or (n,) of the second class where there are two; by blocks of rows."""
        check_is_fitted(self)
        if isinstance(X, Shards):
            check_width(self, X)
        else:
            X = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        with Threads(self.n_jobs) as engine:
            F = project(X, self.coef_, self.intercept_, engine)
        return F[:, 0] if len(self.classes_) == 2 else F

    def predict(self, X: Any) -> Array:
        """The class of the largest margin, (n, d) to (n,)."""
        F = self.decision_function(X)
        best = (F > 0).astype(np.intp) if F.ndim == 1 else F.argmax(axis=1)
        return self.classes_[best]

    @classmethod
    def check_parameters(cls, params: dict[str, Any]) -> None:
        """What can be checked without data; `fit` does this first, and so does anyone who reads parameters from a file."""
        Number(1e-15).check("tol", params["tol"])
        Whole(1).check("max_iter", params["max_iter"])
        thread_count(params["n_jobs"])
        weights = params["class_weight"]
        if not (weights is None or isinstance(weights, dict) or (isinstance(weights, str) and weights == "balanced")):
            raise ValueError(f'class_weight must be a dict from class to weight, "balanced" or None; got {weights!r}')
        for name, weight in weights.items() if isinstance(weights, dict) else ():
            Number().check(f"class_weight[{name!r}]", weight)

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array | Shards, Array, Array]:
        """X, (N,) class numbers, (N,) weights; sets `classes_`, those that any weight is on."""
        self.check_parameters(self.get_params(deep=False))
        if isinstance(X, Shards):
            y = checked_labels(self, X, y)
        else:
            X, y = validate_data(self, X, y, dtype=(np.float64, np.float32))
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, np.empty(len(y)), dtype=np.float64, ensure_non_negative=True)
        if not weight.max() > 0:
            raise ValueError("sample_weight is 0 for every sample; at least one must count")
        self.classes_ = np.unique(y[weight > 0])
        if len(self.classes_) < 2:
            raise ValueError(f"a classifier needs samples of at least two classes; y has only one class, {self.classes_[0]!r}")
        label = np.searchsorted(self.classes_, y)  # of samples without weight it may be anything
        return X, label.astype(np.int64), weight

    def _class_weights(self, label: Array, weight: Array) -> Array:
        """(classes,) factors of the loss, for samples of these weights."""
        classes, chosen = self.classes_, self.class_weight
        if chosen is None:
            return np.ones(len(classes))
        if isinstance(chosen, str):
            count = np.bincount(label, weight, minlength=len(classes) + 1)[: len(classes)]
            return np.where(count > 0, weight.sum() / (len(classes) * np.where(count > 0, count, 1)), 1.0)
        unknown = [name for name in chosen if name not in classes]
        if unknown and len(chosen) - len(unknown) < len(classes):
            raise ValueError(f"class_weight names classes that are not in y: {unknown}; y has {list(classes)}")
        return np.array([chosen.get(name, 1.0) for name in classes.tolist()], np.float64)

    def _store(self, found: Solution) -> None:
        self.coef_, self.intercept_, self.objective_ = found.W, found.b, float(found.objective.sum())
        self.n_iter_, self.converged_ = found.rounds, found.converged
        if not found.converged:
            gradient, gap = found.gradient.max(), np.abs(found.gap).max()
            warn_user(
                f"the SVM stopped after {found.rounds} rounds: its gradient is {gradient:.1e} of the first one, its objective "
                f"is within {gap:.1e} of itself of its minimum; tol={self.tol:g} asks for less of both. Raise max_iter or tol, "
                f"or scale the features: columns of similar size converge best.",
                ConvergenceWarning,
            )


class LinearSVM(LinearClassifier):
    """Linear classifier, one class against the others, squared hinge loss, free bias.

    For each class, with y = ±1, minimises

        (1/S) Σₙ sₙ max(0, 1 - yₙ (w·xₙ + b))² + γ |w|²,   S = Σₙ sₙ

    by L-BFGS in the metric of the features' covariance, and Newton's steps where these are cheap: some dozens of passes over X,
    to the minimum, which the dual problem certifies. X is read in blocks of rows and not copied, so it may be a memory map.
    Memory beyond X is d² numbers (float32 above d = 8192) or, if there are more features than samples, N² (float32 above
    N = 16384 if X is), and 0.3 times X; in any case some 50 MB, and about 80 bytes a sample.

    Parameters
    ----------
    gamma : float, "auto" or None, default="auto"
        γ. "auto": 0.3 of the ridge that generalised cross-validation on up to 1,000 samples finds best, mostly within a factor
        of 3 of what held-out images choose (docs/svm.md); `LinearSVMCV` asks them. None: 0.005, the paper's for CIFAR-10. A
        number where it is known.
    C : float or None, default=None
        The same in LinearSVC's terms, C = 1 / (2 γ S), in place of gamma.
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
    coef_ : (classes, d) float64, or (1, d) where there are two classes
    intercept_ : (classes,) or (1,) float64
    classes_ : (classes,)
    gamma_ : float
        γ as used.
    objective_ : float
        The sum of the problems' minima.
    n_iter_, converged_
        Rounds, and whether gradient and objective reached `tol`.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from poolwise import LinearSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> svm = LinearSVM().fit(X, y)
    >>> svm.converged_, svm.score(X, y) > 0.9
    (True, True)
    """

    def __init__(
        self,
        gamma: float | str | None = "auto",
        *,
        C: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-5,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.gamma = gamma
        self.C = C
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from X, (N, d) float32 or float64, which may be a memory map, and the classes y, (N,), of any type.

        X may also be what `PooledFeatures.hold` gives: products with it are then computed on the workers that have it.

        sample_weight : (N,) s, or None for ones. Only proportions matter where gamma is a number; else their sum does too.
        """
        with unchanged_on_failure(self):
            X, label, weight = self._checked(X, y, sample_weight)
            total, weight = weight, weight / weight.max()
            problems = one_vs_all(label, self._class_weights(label, weight), weight[None])
            stages = Stages(bool(self.verbose), "LinearSVM ")
            with kept_fit(self, X, [self.classes_, label, weight]), Threads(self.n_jobs) as engine:
                with stages.stage("covariance"):
                    rows = CentredRows(X, weight, engine)
                    self.gamma_ = self._gamma(rows, label, total)
                    self._warn_of_small_gamma(rows, label, total)
                    space = make_space(rows)
                with stages.stage("svm", self.max_iter) as update:
                    found = solve_in_groups(space, problems, self.gamma_, self.tol, self.max_iter, update)
            self._store(found)
        return self

    @classmethod
    def check_parameters(cls, params: dict[str, Any]) -> None:
        """As in `LinearClassifier`."""
        super().check_parameters(params)
        gamma, C = params["gamma"], params["C"]
        if C is not None:
            Number(LEAST_GAMMA).check("C", C)
        if gamma is None or (isinstance(gamma, str) and gamma == "auto"):
            return
        if isinstance(gamma, str):
            raise ValueError(f"gamma must be a positive number, 'auto' or None; got {gamma!r}")
        if C is not None:
            raise ValueError(f"give gamma or C, not both; got gamma={gamma!r} and C={C!r}")
        Number(LEAST_GAMMA).check("gamma", gamma)

    def _gamma(self, rows: CentredRows, label: Array, weight: Array) -> float:
        if self.C is not None:
            S = float(weight.sum())
            gamma = 1 / (2 * float(self.C) * S)
            if gamma < LEAST_GAMMA:
                raise ValueError(
                    f"C={self.C!r} means gamma={gamma:.1e} for weights that sum up to {S:g}; at least {LEAST_GAMMA}: "
                    f"give a C of at most {1 / (2 * LEAST_GAMMA * S):.3g}"
                )
            return gamma
        if self.gamma is None:
            return GAMMA
        return spectral_gamma(rows, label, weight, len(self.classes_)) if isinstance(self.gamma, str) else float(self.gamma)

    def _warn_of_small_gamma(self, rows: CentredRows, label: Array, weight: Array) -> None:
        (n, d), classes = rows.shape, len(self.classes_)
        if d <= _MANY_FEATURES * n or self.gamma_ >= _SMALL_SHARE * guess_gamma(rows, float(weight.sum()), classes):
            return
        auto = spectral_gamma(rows, label, weight, classes)
        source = "" if self.C is None else f", which C = {self.C:g} means,"
        warn_user(
            GammaWarning(
                f"a gamma of {self.gamma_:.3g}{source} is far too small for {n:,} samples with {d:,} features each, which may "
                f"cost some accuracy. {{gamma}} would be {auto:.3g}; give that, or use {{LinearSVMCV}}, which searches on "
                "held-out samples.",
                gamma="auto",
                LinearSVMCV=NAME,
            )
        )
