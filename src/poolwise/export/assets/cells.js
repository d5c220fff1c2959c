// Cells of a pyramid: which positions, or pixels, each of them pools.

/** Where the G cells of h positions begin, and the end. */
const cellEdges = (h, G) => Array.from({ length: G + 1 }, (_, g) => Math.ceil((g * h) / G));

/** The cells of a pyramid, and the atoms that they are unions of: `atom` of every row and column of positions. */
function cutCells(h, w, grids) {
  const borders = (n, axis) => [...new Set(grids.flatMap((grid) => cellEdges(n, grid[axis])))].sort((a, b) => a - b);
  const ys = borders(h, 0), xs = borders(w, 1);
  const cells = [];
  for (const [rows, columns] of grids) {
    const ye = cellEdges(h, rows), xe = cellEdges(w, columns);
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        const atoms = [];
        for (let a = ys.indexOf(ye[i]); ys[a] < ye[i + 1]; a++) {
          for (let b = xs.indexOf(xe[j]); xs[b] < xe[j + 1]; b++) atoms.push(a * (xs.length - 1) + b);
        }
        cells.push({ atoms, size: (ye[i + 1] - ye[i]) * (xe[j + 1] - xe[j]) });
      }
    }
  }
  const of = (edges) => Array.from({ length: edges.at(-1) }, (_, i) => edges.findIndex((edge) => edge > i) - 1);
  return { cells, rowOf: of(ys), columnOf: of(xs), xs, columns: xs.length - 1, count: (ys.length - 1) * (xs.length - 1) };
}
