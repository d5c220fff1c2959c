"use strict";
// The two loops that take the time, in WebAssembly with four numbers at a time, assembled here: no compiler, no other file.
// Where a browser has no WebAssembly, the same loops in plain JavaScript serve.
//
//   multiply(a, b, c, panels, depth, groups)              C = A B
//   poolSum, poolSquare, poolMax(z, t, rows, step, quads, sign, theta)   t[k] = t[k] ∘ max(0, sign z[n, k] - theta) over the rows n
//
// Addresses are in bytes of one memory. A is in panels of 4 rows, (panels, depth, 4); B in groups of 8 columns,
// (groups, depth, 8); C in rows of 8 · groups. z has rows `step` bytes apart, of 4 · quads numbers that are read.

const I32 = 0x7f, F32 = 0x7d, V128 = 0x7b;

/** A whole number as WebAssembly spells it: seven bits a byte, the last byte without the highest bit. */
function spell(number) {
  const bytes = [];
  do {
    bytes.push((number & 127) | (number > 127 ? 128 : 0));
    number >>>= 7;
  } while (number);
  return bytes;
}

const get = (local) => [0x20, ...spell(local)];
const set = (local) => [0x21, ...spell(local)];
const integer = (value) => [0x41, ...(value < 64 ? [value] : [(value & 127) | 128, value >> 7])]; // 0 to 8191
const times = [0x6c], minus = [0x6b], plus = [0x6a];
const simd = (code, ...more) => [0xfd, ...spell(code), ...more];
const at = (offset) => [0, ...spell(offset)];
const load = (offset) => simd(0, ...at(offset));
const loadOne = (offset) => simd(9, ...at(offset)); // one number, four times
const store = (offset) => simd(11, ...at(offset));
const zeros = simd(12, ...Array(16).fill(0));
const splat = simd(0x13), add = simd(0xe4), subtract = simd(0xe5), multiplied = simd(0xe6), largest = simd(0xe9);
const forward = (local, bytes) => [...get(local), ...integer(bytes), ...plus, ...set(local)];
/** Repeat a body as often as `counter` says, at least once. */
const repeat = (counter, ...body) => [
  0x03, 0x40, ...body.flat(), ...get(counter), ...integer(1), ...minus, 0x22, ...spell(counter), 0x0d, 0, 0x0b,
];

function multiplyCode() {
  const [a, b, c, panels, depth, groups] = [0, 1, 2, 3, 4, 5];
  const [fromA, fromB, toC, panel, step, row] = [6, 7, 8, 9, 10, 11];
  const [left, right, one, sums] = [12, 13, 14, 15]; // eight sums: 4 rows of 2 × 4 columns
  const clear = [], gather = [], write = [];
  for (let i = 0; i < 4; i++) {
    clear.push(...zeros, ...set(sums + 2 * i), ...zeros, ...set(sums + 2 * i + 1));
    gather.push(...get(fromA), ...loadOne(4 * i), ...set(one));
    for (const [half, column] of [[left, 2 * i], [right, 2 * i + 1]]) {
      gather.push(...get(sums + column), ...get(one), ...get(half), ...multiplied, ...add, ...set(sums + column));
    }
    write.push(...get(toC), ...get(sums + 2 * i), ...store(0), ...get(toC), ...get(sums + 2 * i + 1), ...store(16));
    write.push(...get(toC), ...get(row), ...plus, ...set(toC));
  }
  const body = [
    ...get(groups), ...integer(32), ...times, ...set(row),
    ...repeat(groups,
      [...get(a), ...set(fromA), ...get(c), ...set(toC), ...get(panels), ...set(panel)],
      repeat(panel,
        clear, [...get(b), ...set(fromB), ...get(depth), ...set(step)],
        repeat(step, get(fromB), load(0), set(left), get(fromB), load(16), set(right), gather, forward(fromA, 16), forward(fromB, 32)),
        write),
      [...get(fromB), ...set(b)], forward(c, 32)),
  ];
  return { takes: Array(6).fill(I32), locals: [[6, I32], [11, V128]], body };
}

/** t ∘ a for a = max(0, sign z - theta): `combine` leaves the new total of [total, a] on the stack. */
function poolCode(combine) {
  const [z, t, rows, step, quads, sign, theta] = [0, 1, 2, 3, 4, 5, 6];
  const [from, row, signs, thetas, total, value] = [7, 8, 9, 10, 11, 12];
  const body = [
    ...get(sign), ...splat, ...set(signs), ...get(theta), ...splat, ...set(thetas),
    ...repeat(quads,
      [...get(z), ...set(from), ...get(rows), ...set(row), ...get(t), ...load(0), ...set(total)],
      repeat(row,
        get(from), load(0), get(signs), multiplied, get(thetas), subtract, zeros, largest, set(value),
        combine(total, value), set(total),
        [...get(from), ...get(step), ...plus, ...set(from)]),
      [...get(t), ...get(total), ...store(0)], forward(z, 16), forward(t, 16)),
  ];
  return { takes: [I32, I32, I32, I32, I32, F32, F32], locals: [[2, I32], [4, V128]], body };
}

/** The bytes of the module: the four functions, and a memory that is given to it. */
function assemble() {
  const list = (items) => [...spell(items.length), ...items.flat()];
  const text = (word) => list([...word].map((letter) => [letter.charCodeAt(0)]));
  const section = (number, bytes) => [number, ...spell(bytes.length), ...bytes];
  const functions = {
    multiply: multiplyCode(),
    poolSum: poolCode((total, value) => [...get(total), ...get(value), ...add]),
    poolSquare: poolCode((total, value) => [...get(total), ...get(value), ...get(value), ...multiplied, ...add]),
    poolMax: poolCode((total, value) => [...get(total), ...get(value), ...largest]),
  };
  const all = Object.values(functions);
  const code = ({ locals, body }) => {
    const bytes = [...list(locals.map(([count, kind]) => [...spell(count), kind])), ...body, 0x0b];
    return [...spell(bytes.length), ...bytes];
  };
  return new Uint8Array([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, list(all.map(({ takes }) => [0x60, ...list(takes.map((kind) => [kind])), 0]))),
    ...section(2, list([[...text("page"), ...text("memory"), 2, 0, 1]])),
    ...section(3, list(all.map((_, i) => spell(i)))),
    ...section(7, list(Object.keys(functions).map((name, i) => [...text(name), 0, ...spell(i)]))),
    ...section(10, list(all.map(code))),
  ]);
}

/** The same in plain JavaScript, on the numbers of a memory. */
function plainLoops(numbers) {
  const pool = (combine) => (z, t, rows, step, quads, sign, theta) => {
    for (let n = 0; n < rows; n++) {
      const from = (z + n * step) >> 2;
      for (let k = 0; k < 4 * quads; k++) {
        const value = sign * numbers[from + k] - theta;
        numbers[(t >> 2) + k] = combine(numbers[(t >> 2) + k], value > 0 ? value : 0);
      }
    }
  };
  function multiply(a, b, c, panels, depth, groups) {
    for (let p = 0; p < panels; p++) {
      for (let g = 0; g < groups; g++) {
        for (let i = 0; i < 4; i++) {
          const sums = new Float64Array(8);
          for (let k = 0; k < depth; k++) {
            const one = numbers[(a >> 2) + (p * depth + k) * 4 + i], from = (b >> 2) + (g * depth + k) * 8;
            for (let j = 0; j < 8; j++) sums[j] += one * numbers[from + j];
          }
          numbers.set(sums, (c >> 2) + (p * 4 + i) * 8 * groups + 8 * g);
        }
      }
    }
  }
  return { multiply, poolSum: pool((t, a) => t + a), poolSquare: pool((t, a) => t + a * a), poolMax: pool((t, a) => (a > t ? a : t)) };
}

/** Memory for that many numbers, and the loops that work in it. */
function makeLoops(count, plain) {
  const pages = Math.ceil((4 * count) / 65536);
  if (!plain && typeof WebAssembly === "object") {
    try {
      const memory = new WebAssembly.Memory({ initial: pages });
      const made = new WebAssembly.Instance(new WebAssembly.Module(assemble()), { page: { memory } });
      return { numbers: new Float32Array(memory.buffer), kind: "WebAssembly", ...made.exports };
    } catch (error) {
      if (error instanceof RangeError) throw error; // no memory
    }
  }
  const numbers = new Float32Array(pages * 16384);
  return { numbers, kind: "JavaScript", ...plainLoops(numbers) };
}
