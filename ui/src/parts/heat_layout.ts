// How squares are laid out so that all of them fit into a field of limited height.

export interface HeatLayout {
  /** Pixels of a square with its gap. */
  readonly side: number;
  readonly columns: number;
  readonly height: number;
}

const LARGEST = 26;
const SMALLEST = 3;
const MOST_HEIGHT = 190;

/** Return the largest squares that fit; the smallest may need more height. */
export function layout(cells: number, width: number): HeatLayout {
  for (let side = LARGEST; side > SMALLEST; side -= 1) {
    const columns = Math.max(1, Math.floor(width / side));
    const height = Math.ceil(cells / columns) * side;
    if (height <= MOST_HEIGHT) return { side, columns, height: Math.max(side, height) };
  }
  const columns = Math.max(1, Math.floor(width / SMALLEST));
  return { side: SMALLEST, columns, height: Math.ceil(cells / columns) * SMALLEST };
}

/** Return the index of the square at a point; -1: there is none. */
export function cellAt(grid: HeatLayout, cells: number, x: number, y: number): number {
  const column = Math.floor(x / grid.side);
  if (column < 0 || column >= grid.columns || y < 0) return -1;
  const index = Math.floor(y / grid.side) * grid.columns + column;
  return index < cells ? index : -1;
}
