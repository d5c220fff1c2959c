"""What a fitted `PooledFeatures` has learned: a layer, perhaps its candidates, and the names under which readers know it."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from poolwise.method.candidates import Candidates
from poolwise.method.layer import Layer
from poolwise.method.selection import WayName
from poolwise.method.selection.choosing import Selection
from poolwise.support.types import Array


class WhatWasLearned:
    """A mixin of read-only properties of the three attributes that `fit` sets; only this module checks which of them exist."""

    layer_: Layer
    candidates_: Candidates | None
    selection_: Selection | None
    timings_: dict[str, float]
    selection: WayName

    @property
    def n_candidates_(self) -> int | None:
        """M, also of a slim model; None where nothing was selected."""
        if self.candidates_ is not None:
            return len(self.candidates_.codes)
        if self.selection_ is not None:
            return self.selection_.n_candidates
        return len(self.layer_.codes) if self.layer_.projects_all_codes else None

    @property
    def chosen_by_(self) -> WayName:
        """How codes were chosen: `selection`, or what its "auto" became; "auto" of a slim model, which does not know it."""
        return self.selection if self.candidates_ is None else self.candidates_.way_of(self.selection)

    @property
    def saw_labels_(self) -> bool:
        """Whether codes, pooling or directions were chosen by labels; a slim model does not know it of its codes."""
        labelled = self.candidates_ is not None and self.candidates_.statistics.labelled is not None
        return labelled or not {"pooling by labels", "labels"}.isdisjoint(self.timings_)

    @property
    def n_features_out_(self) -> int:
        """Numbers per image."""
        return self.layer_.n_features

    @property
    def codes_(self) -> Array:
        return self.layer_.codes

    @property
    def selected_(self) -> Array:
        return np.arange(len(self.layer_.codes)) if self.selection_ is None else self.selection_.selected

    @property
    def cluster_(self) -> Array | None:
        return np.arange(len(self.layer_.codes)) if self.selection_ is None else self.selection_.cluster

    @property
    def covariance_(self) -> Array | None:
        return None if self.candidates_ is None else self.candidates_.statistics.covariance

    @property
    def projection_(self) -> Array | None:
        return None if self.layer_.projection is None else self.layer_.projection.T

    @property
    def whitening_mean_(self) -> Array:
        return self.layer_.whitening.m

    @property
    def whitening_matrix_(self) -> Array:
        return self.layer_.whitening.W

    @property
    def pooled_mean_(self) -> Array:
        return self.layer_.scale.mean

    @property
    def pooled_scale_(self) -> Array:
        return self.layer_.scale.spread

    def require_candidates(self) -> Candidates:
        """`candidates_`, or a ValueError that says why there are none."""
        check_is_fitted(self)
        if self.candidates_ is not None:
            return self.candidates_
        if self.n_candidates_ is not None:
            raise ValueError("this model was saved with slim=True, without its candidates; load one that was saved whole")
        raise ValueError("this model was fitted without candidates: plain K-means; give n_candidates to select from")

    def require_clusters(self) -> tuple[Candidates, Array]:
        """Candidates, and for each the index of the one that represents it, (M,); or a ValueError that says why not."""
        candidates, selection = self.require_candidates(), self.selection_
        if selection is None or selection.cluster is None:
            return candidates, np.arange(len(candidates.codes))
        return candidates, selection.cluster
