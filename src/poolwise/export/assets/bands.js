// Statistics of bands: mean, spread, least and largest number of every band in every cell of pixels.
//
// The formula is that of `poolwise.method.band_statistics`, in two passes over the pixels of a cell.

/** image : (H, W, c)    returns : (cells, 4c) float32, one cell after the other: all means, all spreads, all least, all largest */
function bandStatistics(image, [H, W, c], grids) {
  const found = [];
  for (const [rows, columns] of grids) {
    const ys = cellEdges(H, rows), xs = cellEdges(W, columns);
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        for (const numbers of ofCell(image, W, c, ys[i], ys[i + 1], xs[j], xs[j + 1])) found.push(...numbers);
      }
    }
  }
  return Float32Array.from(found);
}

/** Of the pixels in rows top..bottom and columns left..right, each (c,) float64. */
function ofCell(image, W, c, top, bottom, left, right) {
  const mean = new Float64Array(c), square = new Float64Array(c), size = (bottom - top) * (right - left);
  const least = new Float64Array(c).fill(Infinity), largest = new Float64Array(c).fill(-Infinity);
  const visit = (each) => {
    for (let y = top; y < bottom; y++) {
      for (let x = left, n = (y * W + left) * c; x < right; x++) {
        for (let k = 0; k < c; k++, n++) each(k, image[n]);
      }
    }
  };
  visit((k, value) => {
    mean[k] += value / size;
    least[k] = Math.min(least[k], value);
    largest[k] = Math.max(largest[k], value);
  });
  visit((k, value) => { square[k] += (value - mean[k]) ** 2; });
  return [mean, square.map((total) => Math.sqrt(total / size)), least, largest];
}
