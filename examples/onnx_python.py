"""Labels of images by an exported model, without poolwise: onnxruntime and NumPy alone.

poolwise export photos.safetensors -o photos.onnx --layout nhwc
python onnx_python.py photos.onnx images.npy          images: (n, height, width, channels) uint8
"""

import json
import sys

import numpy as np
import onnxruntime

_IMAGES_AT_ONCE = 32


def main(model: str, images: str) -> None:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    about = session.get_modelmeta().custom_metadata_map
    wanted = json.loads(about["poolwise.images"])
    pixels = np.load(images, mmap_mode="r")
    if wanted["layout"] == "NCHW":
        pixels = pixels.transpose(0, 3, 1, 2)
    for start in range(0, len(pixels), _IMAGES_AT_ONCE):
        block = np.ascontiguousarray(pixels[start : start + _IMAGES_AT_ONCE], wanted["dtype"])
        labels, margins = session.run(["label", "margins"], {"images": block})
        for label, margin in zip(labels, margins.max(axis=1), strict=True):
            print(f"{label}\t{margin:.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
