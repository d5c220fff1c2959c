"""Features that stay on the workers of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from poolwise.engine.current import here
from poolwise.engine.shards import Shards
from poolwise.method.extraction import features_of_rows
from poolwise.svm.data import rows_per_shard

if TYPE_CHECKING:
    from poolwise.engine.cluster import Cluster
    from poolwise.support.types import Array


class HoldsFeatures:
    """A mixin of one method, for what has `look_at`, `transform` and a prepared pass."""

    def hold(self: Any, X: Any) -> Array | Shards:
        """What `transform` gives, kept on the workers of a cluster where it is computed: for more images than one memory holds.

        `LinearSVM` and `LinearSVMCV` take it in the place of the array, and give the same bits. It is there until it is
        forgotten or the cluster's `with` ends. Without a cluster it is the array.

        >>> from poolwise import PooledFeatures
        >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
        >>> model = PooledFeatures(4, n_patches=2000, random_state=0).fit(images)
        >>> model.hold(images).shape
        (20, 64)
        """
        images = self.look_at(X)
        with here(self.n_jobs) as engine:
            if not engine.shares_memory:
                shape = len(images), self.n_features_out_
                size, common = rows_per_shard(*shape), (images, self._ready)
                return Shards.computed(cast("Cluster", engine), features_of_rows, size, shape, np.float32, *common)
        return cast("Array", self.transform(X))
