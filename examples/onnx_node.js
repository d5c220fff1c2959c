// Labels of images by an exported model, in Node: npm install onnxruntime-node
//
//     poolwise export photos.safetensors -o photos.onnx --layout nhwc
//     node onnx_node.js photos.onnx pixels.bin 32 32 3      pixels: bytes, image after image, row by row, channels last
"use strict";

const fs = require("fs");
const ort = require("onnxruntime-node");

async function main(model, pixels, ...size) {
  const [height, width, channels] = size.map(Number);
  const session = await ort.InferenceSession.create(model);
  const bytes = new Uint8Array(fs.readFileSync(pixels));
  const count = bytes.length / (height * width * channels);
  const images = new ort.Tensor("uint8", bytes, [count, height, width, channels]);
  const { label, margins } = await session.run({ images });
  const classes = margins.dims[1];
  for (let i = 0; i < count; i++) {
    const own = margins.data.subarray(i * classes, (i + 1) * classes);
    console.log(`${label.data[i]}\t${Math.max(...own).toFixed(4)}`);
  }
}

main(...process.argv.slice(2));
