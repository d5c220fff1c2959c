// A file to the pixels that the model was fitted on, as `poolwise.images.decoding` makes them: cut, scaled by Pillow's bilinear
// filter (a triangle as wide as the reduction, across and then down, each rounded to 8 bits), grey by ITU-R 601. Pillow 13 scales
// some tall pictures down first, which rounds otherwise: by at most one level.

const MOST_PIXELS = 64e6, MOST_BYTES = 100e6;
const ROWS_AT_ONCE = 128;
const BITS = 22; // of the weights behind the point

/** What a reader can act on; anything else is a mistake of ours. */
class Refusal extends Error {}

const big = (count) => Math.round(count).toLocaleString("en");

/** The kind of an image file and its size, by its first bytes, whatever its name. */
function readHeader(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const word = (from, length) => String.fromCharCode(...bytes.subarray(from, from + length));
  const low24 = (from) => bytes[from] | (bytes[from + 1] << 8) | (bytes[from + 2] << 16);
  if (word(0, 8) === "\x89PNG\r\n\x1a\n" && bytes.length > 24) return { kind: "PNG", width: view.getUint32(16), height: view.getUint32(20) };
  if (word(0, 3) === "GIF" && bytes.length > 10) return { kind: "GIF", width: view.getUint16(6, true), height: view.getUint16(8, true) };
  if (word(0, 2) === "BM" && bytes.length > 26) {
    return { kind: "BMP", width: Math.abs(view.getInt32(18, true)), height: Math.abs(view.getInt32(22, true)) };
  }
  if (word(0, 4) === "RIFF" && word(8, 4) === "WEBP" && bytes.length > 30) {
    const part = word(12, 4);
    if (part === "VP8X") return { kind: "WebP", width: 1 + low24(24), height: 1 + low24(27) };
    if (part === "VP8L") {
      const sizes = view.getUint32(21, true);
      return { kind: "WebP", width: 1 + (sizes & 0x3fff), height: 1 + ((sizes >> 14) & 0x3fff) };
    }
    return { kind: "WebP", width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
  }
  if (bytes[0] === 0xff && bytes[1] === 0xd8) {
    for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff; ) {
      const marker = bytes[at + 1];
      if (marker === 0xff || (marker >= 0xd0 && marker <= 0xd8) || marker === 1) {
        at += marker === 0xff ? 1 : 2;
      } else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
        return { kind: "JPEG", width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
      } else {
        at += 2 + view.getUint16(at + 2);
      }
    }
    throw new Refusal("it begins as a JPEG, but is damaged");
  }
  const start = word(0, Math.min(bytes.length, 512)).toLowerCase();
  if (bytes.length === 0) throw new Refusal("it is empty, or a folder");
  if (start.includes("<svg")) throw new Refusal("it is an SVG drawing, which has no pixels; save it as PNG");
  if (/^(ii\*\0|mm\0\*)/.test(start)) throw new Refusal("it is a TIFF, which browsers do not read; save it as PNG, or use poolwise predict");
  if (start.slice(4, 8) === "ftyp") throw new Refusal("it is a HEIC or AVIF picture or a film; save it as JPEG or PNG");
  throw new Refusal("its content is not a PNG, JPEG, WebP, BMP or GIF picture, whatever its name");
}

/** The part of an image of (height, width) that becomes (h, w): all of it, or the largest in the middle with these proportions. */
function partOf(height, width, h, w, crop) {
  const whole = [0, 0, width, height];
  if (!crop) return whole;
  const wanted = w / h, has = width / height;
  const wide = has > wanted ? wanted * height : width, high = has < wanted ? width / wanted : height;
  const left = (width - wide) * 0.5, top = (height - high) * 0.5;
  return [left, top, left + wide, top + high].map(Math.fround);
}

/** For each of `size` outputs the first input that counts, and the weights of those from there on. */
function weightsOf(length, from, to, size) {
  const scale = Math.fround(to - from) / size, reach = Math.max(scale, 1);
  return Array.from({ length: size }, (_, i) => {
    const centre = from + (i + 0.5) * scale;
    const first = Math.max(0, Math.trunc(centre - reach + 0.5)), end = Math.min(length, Math.trunc(centre + reach + 0.5));
    const found = [];
    for (let x = first; x < end; x++) found.push(Math.max(0, 1 - Math.abs((x - centre + 0.5) * (1 / reach))));
    const total = found.reduce((a, b) => a + b, 0);
    return { first, weights: Int32Array.from(found, (v) => Math.trunc((total ? v / total : v) * 2 ** BITS + 0.5)) };
  });
}

const rounded = (sum) => (sum >= 2 ** (BITS + 8) ? 255 : sum >> BITS);

/**
 * Bring an image to (h, w, c).
 *
 * rows(y, count) : RGBA of some rows of an image of (height, width)    returns : (h, w, c) bytes
 */
function resize(rows, height, width, [h, w, c], crop) {
  const [left, top, right, bottom] = partOf(height, width, h, w, crop);
  const across = w !== width || left !== 0 || right !== width ? weightsOf(width, left, right, w) : null;
  const down = h !== height || top !== 0 || bottom !== height ? weightsOf(height, top, bottom, h) : null;
  const first = down ? down[0].first : 0, end = down ? down[h - 1].first + down[h - 1].weights.length : height;
  const narrow = new Uint8Array((end - first) * w * c);
  for (let y = first; y < end; y += ROWS_AT_ONCE) {
    const count = Math.min(ROWS_AT_ONCE, end - y), strip = channels(rows(y, count), c);
    for (let row = 0; row < count; row++) narrowRow(strip, row * width * c, narrow, (y - first + row) * w * c, w, c, across);
  }
  if (!down) return narrow;
  const out = new Uint8Array(h * w * c), step = w * c;
  down.forEach(({ first: start, weights }, y) => {
    for (let i = 0; i < step; i++) {
      let sum = 2 ** (BITS - 1);
      for (let k = 0, at = (start - first) * step + i; k < weights.length; k++, at += step) sum += narrow[at] * weights[k];
      out[y * step + i] = rounded(sum);
    }
  });
  return out;
}

function narrowRow(strip, from, into, at, w, c, across) {
  if (!across) {
    into.set(strip.subarray(from, from + w * c), at);
    return;
  }
  for (let x = 0; x < w; x++) {
    const { first, weights } = across[x];
    for (let k = 0; k < c; k++) {
      let sum = 2 ** (BITS - 1);
      for (let i = 0, pixel = from + first * c + k; i < weights.length; i++, pixel += c) sum += strip[pixel] * weights[i];
      into[at + x * c + k] = rounded(sum);
    }
  }
}

/** RGBA to three channels, or to one grey. */
function channels(rgba, c) {
  const n = rgba.length / 4, out = new Uint8Array(n * c);
  for (let i = 0, from = 0; i < n; i++, from += 4) {
    if (c === 1) {
      out[i] = (rgba[from] * 19595 + rgba[from + 1] * 38470 + rgba[from + 2] * 7471 + 0x8000) >> 16;
    } else {
      out[3 * i] = rgba[from];
      out[3 * i + 1] = rgba[from + 1];
      out[3 * i + 2] = rgba[from + 2];
    }
  }
  return out;
}
