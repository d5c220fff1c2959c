// A layer of poolwise: pixels to features and margins.
//
//   pixels ─ patches ─ [p - centre, 1] B ─ max(0, sign z - theta) ─ cells ─ normalised ─ (x - mean) / spread ─ T ─ coef
//   pixels ─ statistics of bands ─ (s - bandMean) / bandSpread, behind the codes' numbers
//
// Whitening and thresholds are folded into B; with few directions, R [p - centre, 1] comes first. The names are those of
// `poolwise.method.extraction.fused` and `poolwise.kernels.extraction`, and so are the formulas.

const TILE = 256; // positions in one product
const CONSTANT = 1e-6; // contrast below this share of the mean is rounding
const CLOSE_SHARE = 1e-3; // of |p|²: distances below it have lost their digits
const WAYS = { // loops that pool outputs by themselves
  average: ["poolSum"], sum: ["poolSum"], max: ["poolMax"], rms: ["poolSquare"], both: ["poolSum", "poolMax"], none: [],
};
const MOST_ROUNDS = 40, CLOSE = 1e-9; // of the iteration for matrix roots

/** Base64 of float32, the lowest byte first. */
function decode(text) {
  return new Float32Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}

/** (depth, columns) of numbers in groups of eight columns, filled up with zeros: (groups, depth, 8). */
function packColumns(B, depth, columns, into) {
  into.fill(0);
  for (let k = 0; k < depth; k++) {
    for (let j = 0; j < columns; j++) into[((j >> 3) * depth + k) * 8 + (j & 7)] = B[k * columns + j];
  }
}

class Layer {
  /** spec : what `poolwise.export.page` writes    plain : without WebAssembly */
  constructor(spec, plain = false) {
    Object.assign(this, spec);
    for (const name of ["centre", "B", "R", "D", "mean", "spread", "T", "coef", "bandMean", "bandSpread"]) this[name] = spec[name] && decode(spec[name]);
    const [H, W, c] = this.shape, [ph, pw] = this.patch;
    this.h = Math.floor((H - ph) / this.stride) + 1;
    this.w = Math.floor((W - pw) / this.stride) + 1;
    this.d = ph * pw * c;
    this.outputs = this.signs.length * this.codes;
    this.cut = cutCells(this.h, this.w, this.grids);
    this.ways = WAYS[this.how];
    this.alone = this.ways.length * this.outputs; // numbers of a cell that are outputs by themselves; products follow
    this.width = this.alone + (this.multiplied * (this.multiplied + 1)) / 2;
    this.#reserve(plain);
  }

  /** One memory for tiles of patches, responses, dictionaries and totals. */
  #reserve(plain) {
    const rows = 4 * Math.ceil(Math.min(TILE, this.h * this.w) / 4), inner = this.inner;
    this.rows = rows;
    this.columns = 8 * Math.ceil((this.B.length / (inner + 1)) / 8);
    this.reduced = this.R ? 8 * Math.ceil(inner / 8) : 0;
    this.padded = 4 * Math.ceil(this.codes / 4);
    const sizes = {
      A: rows * (this.d + 1), few: this.R ? rows * (inner + 1) : 0, small: rows * this.reduced, Z: rows * this.columns,
      R: this.reduced * (this.d + 1), B: this.columns * (inner + 1),
      totals: this.ways.length * this.cut.count * this.signs.length * this.padded,
    };
    this.place = {};
    let end = 0;
    for (const [name, size] of Object.entries(sizes)) {
      this.place[name] = end;
      end += 4 * Math.ceil(size / 4);
    }
    this.loops = makeLoops(end, plain);
    const view = (name) => this.loops.numbers.subarray(this.place[name], this.place[name] + sizes[name]);
    this.memory = Object.fromEntries(Object.keys(sizes).map((name) => [name, view(name)]));
    packColumns(this.B, inner + 1, this.B.length / (inner + 1), this.memory.B);
    if (this.R) {
      const columns = new Float32Array(this.R.length); // R is (inner, d + 1)
      for (let j = 0; j < inner; j++) for (let k = 0; k <= this.d; k++) columns[k * inner + j] = this.R[j * (this.d + 1) + k];
      packColumns(columns, this.d + 1, inner, this.memory.R);
    }
  }

  /** Pixels 0..255 of one image, (H, W, c), as the model's bands have them. */
  scaled(pixels) {
    const image = Float32Array.from(pixels), c = this.shape[2];
    if (this.bands) {
      const gain = this.bands.map((band) => Math.fround(band[0])), shift = this.bands.map((band) => Math.fround(band[1]));
      for (let i = 0; i < image.length; i++) image[i] = Math.fround(image[i] * gain[i % c]) + shift[i % c];
    }
    return image;
  }

  /** Itself, mirrored, turned: copies whose pooled statistics are averaged. */
  *copies(image) {
    const [H, W, c] = this.shape;
    const moved = (from) => {
      const copy = new Float32Array(image.length);
      for (let y = 0; y < H; y++) {
        for (let x = 0; x < W; x++) {
          const [fy, fx] = from(y, x);
          for (let k = 0; k < c; k++) copy[(y * W + x) * c + k] = image[(fy * W + fx) * c + k];
        }
      }
      return copy;
    };
    const turned = [(y, x) => [y, x], (y, x) => [x, W - 1 - y], (y, x) => [H - 1 - y, W - 1 - x], (y, x) => [H - 1 - x, y]];
    for (const turn of this.symmetry === "dihedral" ? turned : [turned[0]]) {
      yield moved(turn);
      if (this.symmetry) yield moved((y, x) => turn(y, W - 1 - x));
    }
  }

  /** Contrast-normalised patches of positions n0..n1, less the centre, in panels of four. */
  #patches(image, n0, n1) {
    const [ph, pw] = this.patch, [, W, c] = this.shape, { d, w, stride, centre, contrast, offset } = this, A = this.memory.A;
    const patch = new Float64Array(d), across = pw * c;
    A.fill(0);
    for (let n = n0; n < n1; n++) {
      const y = Math.floor(n / w) * stride, x = (n % w) * stride;
      let total = 0, square = 0;
      for (let dy = 0, f = 0; dy < ph; dy++) {
        for (let i = 0, from = ((y + dy) * W + x) * c; i < across; i++, f++) total += patch[f] = image[from + i];
      }
      let mean = 0, gain = 1;
      if (contrast) {
        mean = total / d;
        for (let f = 0; f < d; f++) square += (patch[f] - mean) * (patch[f] - mean);
        const scale = contrast === "std" ? Math.sqrt(square / d) + offset : Math.sqrt(square / Math.max(d - 1, 1) + offset);
        gain = scale > CONSTANT * Math.abs(mean) ? 1 / scale : 0;
      }
      const into = ((n - n0) >> 2) * (d + 1) * 4 + ((n - n0) & 3);
      for (let f = 0; f < d; f++) A[into + 4 * f] = (patch[f] - mean) * gain - centre[f];
      A[into + 4 * d] = 1;
    }
  }

  /** Responses of positions n0..n1, rows of `columns` numbers; those of `triangle` and `nearest` already activated. */
  #responses(image, n0, n1) {
    const { place, memory, inner, loops } = this, panels = Math.ceil((n1 - n0) / 4), bytes = (name) => 4 * place[name];
    this.#patches(image, n0, n1);
    let left = "A";
    if (this.R) {
      loops.multiply(bytes("A"), bytes("R"), bytes("small"), panels, this.d + 1, this.reduced / 8);
      for (let n = 0; n < 4 * panels; n++) {
        const into = (n >> 2) * (inner + 1) * 4 + (n & 3);
        for (let f = 0; f < inner; f++) memory.few[into + 4 * f] = memory.small[n * this.reduced + f];
        memory.few[into + 4 * inner] = 1;
      }
      left = "few";
    }
    loops.multiply(bytes(left), bytes("B"), bytes("Z"), panels, inner + 1, this.columns / 8);
    for (let n = 0; n < n1 - n0 && this.activation !== "threshold"; n++) {
      const row = memory.Z.subarray(n * this.columns, (n + 1) * this.columns);
      this.activation === "triangle" ? this.#triangle(row) : this.#nearest(row);
    }
  }

  /** max(0, mean distance - distance); the row holds p·d - |d|²/2 and, behind it, the whitened patch p. */
  #triangle(row) {
    const { codes, inner, D } = this, p = row.subarray(codes, codes + inner);
    let square = 0, total = 0;
    for (let j = 0; j < inner; j++) square += p[j] * p[j];
    for (let k = 0; k < codes; k++) {
      let v = square - 2 * row[k];
      if (v < CLOSE_SHARE * square) {
        v = 0;
        for (let j = 0; j < inner; j++) v += (p[j] - D[k * inner + j]) ** 2;
      }
      total += row[k] = Math.sqrt(v);
    }
    for (let k = 0; k < codes; k++) row[k] = Math.max(0, total / codes - row[k]);
  }

  /** 1 at the largest, the first of equals, else 0. */
  #nearest(row) {
    let best = 0;
    for (let k = 1; k < this.codes; k++) if (row[k] > row[best]) best = k;
    row.fill(0, 0, this.codes);
    row[best] = 1;
  }

  /** Call visit(row in Z, first position, positions, atom) for every run of positions of one row and one atom. */
  #runs(image, visit) {
    const { h, w, rows, cut } = this;
    for (let n0 = 0; n0 < h * w; n0 += rows) {
      const n1 = Math.min(h * w, n0 + rows);
      this.#responses(image, n0, n1);
      for (let n = n0; n < n1; ) {
        const y = Math.floor(n / w), x = n % w, j = cut.columnOf[x];
        const end = Math.min(n1, n - x + cut.xs[j + 1]);
        visit(n - n0, n, end - n, cut.rowOf[y] * cut.columns + j);
        n = end;
      }
    }
  }

  /** Statistics of one view in every cell: outputs by themselves, and behind them averages of products, (multiplied, multiplied). */
  #statistics(image) {
    const { cut, alone, multiplied } = this, f = new Float64Array(multiplied), active = new Int32Array(multiplied);
    const sums = Array.from({ length: cut.count }, () => new Float64Array(multiplied * multiplied));
    this.memory.totals.fill(0);
    this.#runs(image, (row, n, count, atom) => {
      this.#pool(row, count, atom);
      for (let i = 0; i < count && multiplied; i++) {
        this.#activations(row + i, f);
        addProducts(f, active, sums[atom]);
      }
    });
    return cut.cells.map((cell) => {
      const x = new Float64Array(alone + multiplied * multiplied);
      this.#pooled(cell, x);
      x.set(averageProducts(cell, sums, multiplied), alone);
      return x;
    });
  }

  /** Take rows of Z into the totals of an atom. */
  #pool(row, count, atom) {
    const { ways, signs, thetas, padded, cut, loops, place, columns } = this;
    ways.forEach((way, part) => {
      const into = place.totals + (part * cut.count + atom) * signs.length * padded;
      for (let s = 0; s < signs.length; s++) {
        loops[way](4 * (place.Z + row * columns), 4 * (into + s * padded), count, 4 * columns, padded / 4, signs[s], thetas[s]);
      }
    });
  }

  /** Outputs by themselves in one cell, from the totals of its atoms. */
  #pooled({ atoms, size }, x) {
    const { ways, how, signs, codes, padded, outputs, cut } = this, totals = this.memory.totals;
    ways.forEach((way, part) => {
      const isLargest = way === "poolMax", share = isLargest || how === "sum" ? 1 : size;
      for (const atom of atoms) {
        for (let s = 0; s < signs.length; s++) {
          const from = ((part * cut.count + atom) * signs.length + s) * padded, to = part * outputs + s * codes;
          for (let k = 0; k < codes; k++) {
            x[to + k] = isLargest ? Math.max(x[to + k], totals[from + k]) : x[to + k] + totals[from + k] / share;
          }
        }
      }
    });
  }

  /** Activations of a row of Z, in the order of the sides: as many as f has room for. */
  #activations(row, f) {
    const { signs, thetas, codes } = this, Z = this.memory.Z, from = row * this.columns;
    for (let s = 0; s * codes < f.length; s++) {
      const some = Math.min(codes, f.length - s * codes);
      for (let k = 0; k < some; k++) f[s * codes + k] = Math.max(0, signs[s] * Z[from + k] - thetas[s]);
    }
  }

  /** What pooling makes of its statistics, in one cell. */
  #normalized(x) {
    const { alone, multiplied, width } = this, found = new Float64Array(width);
    for (let i = 0; i < alone; i++) {
      const value = this.how === "rms" ? Math.sqrt(x[i]) : x[i];
      found[i] = this.root ? Math.sign(value) * Math.sqrt(Math.abs(value)) : value;
    }
    const S = x.subarray(alone), matrix = this.normalize === "root" ? shiftedRoot(S, multiplied, this.pairOffset) : S;
    found.set(packPairs(matrix, multiplied, this.normalize === "power"), alone);
    return found;
  }

  /**
   * pixels : (H, W, c), 0..255
   * returns : standard, (cells · width) standardised and behind them statistics of bands, (cells · 4c), if the model has any;
   * features, projected where the model projects; margins, or null
   */
  run(pixels) {
    let total = null, count = 0, bandTotal = null;
    for (const view of this.copies(this.scaled(pixels))) {
      const found = this.#statistics(view);
      total = total ? total.map((x, cell) => x.map((value, i) => value + found[cell][i])) : found;
      if (this.bandMean) {
        const seen = bandStatistics(view, this.shape, this.grids);
        bandTotal = bandTotal ? bandTotal.map((value, i) => value + seen[i]) : Float64Array.from(seen);
      }
      count++;
    }
    const { width, mean, spread } = this, cells = total.length, bands = bandTotal ? bandTotal.length : 0;
    const standard = new Float32Array(cells * width + bands);
    total.forEach((sum, cell) => {
      const x = this.#normalized(count > 1 ? sum.map((value) => value / count) : sum), own = mean.length > width ? cell * width : 0;
      for (let i = 0; i < width; i++) standard[cell * width + i] = (x[i] - mean[own + i]) / spread[own + i];
    });
    for (let i = 0; i < bands; i++) {
      const own = i % this.bandMean.length; // one scale for all cells, or one for each
      standard[cells * width + i] = (bandTotal[i] / count - this.bandMean[own]) / this.bandSpread[own];
    }
    return { standard, features: this.T ? this.#projected(standard, cells) : standard, margins: this.coef ? this.#margins(standard) : null };
  }

  #projected(standard, cells) {
    const { T, width } = this, rows = T.length / width, bands = standard.subarray(cells * width);
    const features = new Float32Array(cells * rows + bands.length);
    features.set(bands, cells * rows);
    for (let cell = 0; cell < cells; cell++) {
      for (let r = 0; r < rows; r++) features[cell * rows + r] = dot(T, r * width, standard, cell * width, width);
    }
    return features;
  }

  /** One for each class; of two classes, what is learned is the margin of the second. */
  #margins(standard) {
    const n = standard.length, found = this.intercept.map((b, r) => b + dot(this.coef, r * n, standard, 0, n));
    return found.length === 1 ? [-found[0], found[0]] : found;
  }

  /** Output o as what fires: code k is number k, its negative number codes + k, whatever the threshold. */
  #sideOf(o) {
    return (this.signs[Math.floor(o / this.codes)] < 0 ? this.codes : 0) + (o % this.codes);
  }

  /**
   * What each code, and with two sides its negative, adds to the margin of a class; without one, for row = null, by how much
   * its pooled activation, or where only products are pooled its square, is above its mean, in the part of the image where
   * that is most, in units of its spread. Statistics of bands belong to no code.
   */
  scores(standard, row) {
    const { width, alone, outputs, codes } = this, n = standard.length, isSecond = this.classes && this.classes.length === 2;
    const scores = new Float64Array(this.signs.some((sign) => sign < 0) ? 2 * codes : codes);
    const sign = isSecond && row === 0 ? -1 : 1, from = isSecond ? 0 : row * n;
    const owners = [...Array.from({ length: alone }, (_, i) => [i % outputs, i % outputs]), ...pairsOf(this.multiplied)];
    const ofCodes = this.cut.cells.length * width;
    if (row === null) scores.fill(-Infinity);
    for (let i = 0; i < ofCodes; i++) {
      const [o, p] = owners[i % width], a = this.#sideOf(o);
      if (row === null) {
        if (alone ? i % width < alone : o === p) scores[a] = Math.max(scores[a], standard[i]);
      } else {
        const share = (sign * this.coef[from + i] * standard[i]) / 2;
        scores[a] += share;
        scores[this.#sideOf(p)] += share;
      }
    }
    return scores;
  }

  /** Where codes or their negatives, numbered as above, fire in the image: (h, w) activations of each. */
  maps(pixels, wanted) {
    const f = new Float64Array(this.outputs), found = wanted.map(() => new Float32Array(this.h * this.w));
    const outputs = wanted.map((which) => Array.from(f.keys()).filter((o) => this.#sideOf(o) === which));
    this.#runs(this.scaled(pixels), (row, n, count) => {
      for (let i = 0; i < count; i++) {
        this.#activations(row + i, f);
        outputs.forEach((some, which) => { for (const o of some) found[which][n + i] += f[o]; });
      }
    });
    return found;
  }
}

function dot(a, from, b, at, n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += a[from + i] * b[at + i];
  return sum;
}
