"""What a notebook shows of a fitted model: scikit-learn's diagram, and the codes below it."""

import base64
import io
from typing import Any

from poolwise.support.tiles import arrange

_MOST_CODES = 400
_FEW_CODES = 100  # are drawn larger


class ShowsItsCodes:
    """A mixin, to be put before BaseEstimator: its HTML, then a mosaic if the model is fitted."""

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

    if not hasattr(model, "layer_"):
        return ""
    K = len(model.codes_)
    layer = model.layer_
    tiles = layer.descriptor.draw(layer.whitening.undo(layer.codes[:_MOST_CODES]), layer.image_shape[2])
    if tiles is None and layer.pictures is not None:
        tiles = layer.pictures[:_MOST_CODES]
    if tiles is None:
        return ""
    file = io.BytesIO()
    columns, zoom = (20, 6) if K <= _FEW_CODES else (40, 3)
    Image.fromarray(arrange(tiles, min(columns, K), zoom=zoom, gap=2)).save(file, format="PNG")
    text = f"{K:,} codes" if K <= _MOST_CODES else f"The first {_MOST_CODES} of {K:,} codes"
    source = base64.b64encode(file.getvalue()).decode("ascii")
    return (
        f'<figure style="margin:0.5em 0"><img alt="{text}, each a small pattern of light and colour" style="max-width:100%;'
        f'image-rendering:pixelated" src="data:image/png;base64,{source}"><figcaption>{text}</figcaption></figure>'
    )
