// The page's worker: pictures in, labels, margins and maps out. It answers each message with its `id`.

let layer = null;

/** A file, or a frame of the camera, as an image that the browser has decoded. */
async function decoded(source) {
  if (!(source instanceof Blob)) return source;
  if (source.size > MOST_BYTES) throw new Refusal(`it has ${big(source.size / 1e6)} MB; a page takes up to ${big(MOST_BYTES / 1e6)}`);
  let bytes;
  try {
    bytes = new Uint8Array(await source.arrayBuffer());
  } catch {
    throw new Refusal("it cannot be read; it may be a folder, or gone");
  }
  const { kind, width, height } = readHeader(bytes);
  if (width < 1 || height < 1) throw new Refusal(`it is a ${kind} of ${width} × ${height} pixels, which is empty`);
  if (width * height > MOST_PIXELS) {
    throw new Refusal(`it has ${big(width)} × ${big(height)} pixels; a page takes up to ${big(MOST_PIXELS / 1e6)} million`);
  }
  try {
    return await createImageBitmap(source, { colorSpaceConversion: "none", imageOrientation: "from-image" });
  } catch {
    throw new Refusal(`it begins as a ${kind}, but cannot be decoded; it may be damaged or too large for this browser`);
  }
}

/** Rows of a bitmap over white, a strip at a time: a canvas of all of it may be more than a browser allows. */
function rowsOf(bitmap) {
  if (typeof OffscreenCanvas === "undefined") throw new Refusal("this browser is too old for the page; one from 2023 or later works");
  const canvas = new OffscreenCanvas(bitmap.width, Math.min(ROWS_AT_ONCE, bitmap.height));
  const context = canvas.getContext("2d", { willReadFrequently: true, alpha: false });
  return (y, count) => {
    context.fillStyle = "#fff";
    context.fillRect(0, 0, bitmap.width, count);
    context.drawImage(bitmap, 0, y, bitmap.width, count, 0, 0, bitmap.width, count);
    return context.getImageData(0, 0, bitmap.width, count).data;
  };
}

const answers = {
  load({ spec, plain }) {
    layer = new Layer(spec, plain);
    layer.run(new Uint8Array(layer.shape[0] * layer.shape[1] * layer.shape[2])); // compiled before it is timed
    return { kind: layer.loops.kind, positions: [layer.h, layer.w] };
  },

  async picture({ source, crop }) {
    const start = performance.now();
    const bitmap = await decoded(source), size = [bitmap.height, bitmap.width];
    const pixels = resize(rowsOf(bitmap), bitmap.height, bitmap.width, layer.shape, crop);
    bitmap.close();
    const ready = performance.now();
    const found = layer.run(pixels);
    const milliseconds = performance.now() - ready;
    return { ...found, pixels, size, milliseconds, reading: ready - start };
  },

  /** The codes and negatives with the highest scores for a class (a row of the margins) or, for null, above their mean; where they fire. */
  codes({ pixels, standard, row, count }) {
    const scores = layer.scores(standard, row);
    const order = Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a] || a - b);
    const shown = order.slice(0, count).filter((which) => scores[which] > 0);
    return { scores, shown, maps: layer.maps(pixels, shown) };
  },
};

self.onmessage = async ({ data }) => {
  try {
    self.postMessage({ id: data.id, answer: await answers[data.ask](data) });
  } catch (error) {
    const known = error instanceof Refusal;
    const reason = error instanceof RangeError ? "there is not enough memory for it" : known ? error.message : `of a mistake in this page (${error.message})`;
    self.postMessage({ id: data.id, refused: reason });
  }
};
