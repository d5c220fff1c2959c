// Second-order pooling: products of activations, the upper triangle of a symmetric matrix, and its square root.

/** (i, j) of every number of an upper triangle, row by row. */
function pairsOf(outputs) {
  const pairs = [];
  for (let i = 0; i < outputs; i++) for (let j = i; j < outputs; j++) pairs.push([i, j]);
  return pairs;
}

/** The upper triangle, what is off the diagonal times √2; `power`: of its entries' roots, with their sign. */
function packPairs(S, outputs, power) {
  return Float64Array.from(pairsOf(outputs), ([i, j]) => {
    const s = S[i * outputs + j], value = power ? Math.sign(s) * Math.sqrt(Math.abs(s)) : s;
    return i === j ? value : Math.SQRT2 * value;
  });
}

/** S += f fᵀ, of which the upper triangle; active : room for as many numbers as f has */
function addProducts(f, active, S) {
  const K = f.length;
  let some = 0;
  for (let k = 0; k < K; k++) if (f[k] > 0) active[some++] = k;
  for (let a = 0; a < some; a++) {
    for (let b = a, one = f[active[a]], at = active[a] * K; b < some; b++) S[at + active[b]] += one * f[active[b]];
  }
}

/** The whole (K, K) matrix of a cell, from the sums of all atoms. */
function averageProducts({ atoms, size }, sums, K) {
  const S = new Float64Array(K * K);
  for (const atom of atoms) for (let i = 0; i < S.length; i++) S[i] += sums[atom][i] / size;
  for (let i = 0; i < K; i++) for (let j = 0; j < i; j++) S[i * K + j] = S[j * K + i];
  return S;
}

/** C = A B of symmetric (K, K) matrices that commute, so that C is symmetric too. */
function symmetricProduct(A, B, K) {
  const C = new Float64Array(K * K);
  for (let i = 0; i < K; i++) {
    for (let j = i; j < K; j++) {
      let sum = 0;
      for (let k = 0, a = i * K, b = j * K; k < K; k++) sum += A[a + k] * B[b + k];
      C[i * K + j] = C[j * K + i] = sum;
    }
  }
  return C;
}

/**
 * (S + ε s̄ I)^½ with s̄ the mean of the diagonal, by the scaled iteration of Newton and Schulz (`poolwise.kernels.roots`):
 * Y = S / |S| and Z = I; a round multiplies both by μ (3 I - μ² Z Y) / 2.
 */
function shiftedRoot(S, K, offset) {
  let mean = 0;
  for (let i = 0; i < K; i++) mean += S[i * K + i] / K;
  const least = offset * mean, shifted = Float64Array.from(S);
  for (let i = 0; i < K; i++) shifted[i * K + i] += least;
  const norm = Math.sqrt(shifted.reduce((sum, s) => sum + s * s, 0));
  if (!(norm > 0)) return shifted;
  let Y = shifted.map((s) => s / norm), Z = null, a = Math.sqrt(least / norm);
  for (let round = 0; round < MOST_ROUNDS && 1 - a >= CLOSE; round++) {
    const mu = Math.sqrt(3 / (1 + a + a * a));
    const T = (Z ? symmetricProduct(Z, Y, K) : Y).map((t) => -0.5 * mu ** 3 * t);
    for (let i = 0; i < K; i++) T[i * K + i] += 1.5 * mu;
    Y = symmetricProduct(Y, T, K);
    Z = Z ? symmetricProduct(T, Z, K) : T;
    a = (mu * a * (3 - mu * mu * a * a)) / 2;
  }
  return Y.map((y) => y * Math.sqrt(norm));
}
