"""What a notebook shows of a fitted model: scikit-learn's diagram, and the codes below it.

The arrows between rooms forbid an estimator to import `report`, and a late import would be the same arrow in disguise. So the
pixels of codes are drawn in the room `tiles`, on which both stand; all that is left to do here is a PNG.
"""

import base64
import io
from typing import Any

from poolwise.tiles import arrange, draw_tiles, unwhiten

_MOST = 400
_FEW = 100  # are drawn larger


class ShowsItsCodes:
    """A mixin, to stand before BaseEstimator: its HTML, then a mosaic if the model is fitted."""

    def _repr_html_inner(self) -> str:
        return f"{super()._repr_html_inner()}{_mosaic(self)}"  # type: ignore[misc]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:  # scikit-learn's `display` may be "text"
            bundle["text/html"] += _mosaic(self)
        return bundle


def _mosaic(model: Any) -> str:
    """The codes as an image element; nothing for a model that is not fitted."""
    from PIL import Image

    if not hasattr(model, "codes_"):
        return ""
    K = len(model.codes_)
    shown = unwhiten(model.codes_[:_MOST], model.whitening_matrix_)
    tiles = draw_tiles(shown, (*model.patch_size_, model.image_shape_in_[2]))
    file = io.BytesIO()
    columns, zoom = (20, 6) if K <= _FEW else (40, 3)
    Image.fromarray(arrange(tiles, min(columns, K), zoom=zoom, gap=2)).save(file, format="PNG")
    text = f"{K:,} codes" if K <= _MOST else f"The first {_MOST} of {K:,} codes"
    source = base64.b64encode(file.getvalue()).decode("ascii")
    return (
        f'<figure style="margin:0.5em 0"><img alt="{text}, each a small pattern of light and colour" style="max-width:100%;'
        f'image-rendering:pixelated" src="data:image/png;base64,{source}"><figcaption>{text}</figcaption></figure>'
    )
