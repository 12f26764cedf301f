// The lines in which two texts differ, with a few lines around them.

export interface DiffLine {
  readonly kind: "same" | "old" | "new" | "gap";
  readonly text: string;
  /** Number of the line in its text, in the new one if it is in both; of a gap, how many are left out. */
  readonly number: number;
}

/** Pairs of lines that are compared at most; larger changes are shown as a whole. */
const MOST_PAIRS = 4_000_000;
const AROUND = 3;

export function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Return all lines of two texts, marked as equal, old or new. */
function compared(old: readonly string[], fresh: readonly string[]): DiffLine[] {
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < fresh.length - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail += 1;
  const same = (at: number): DiffLine => ({ kind: "same", text: fresh[at] ?? "", number: at + 1 });
  const found: DiffLine[] = [];
  for (let at = 0; at < head; at += 1) found.push(same(at));
  for (const each of middle(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail))) {
    found.push({ ...each, number: each.number + head });
  }
  for (let at = fresh.length - tail; at < fresh.length; at += 1) found.push(same(at));
  return found;
}

/** Compare lines of which the first and the last differ, by their longest common sequence. */
function middle(old: readonly string[], fresh: readonly string[]): DiffLine[] {
  const width = fresh.length + 1;
  const common = old.length * fresh.length <= MOST_PAIRS ? new Uint16Array((old.length + 1) * width) : undefined;
  for (let i = old.length - 1; common && i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      const below = common[(i + 1) * width + j] ?? 0;
      const right = common[i * width + j + 1] ?? 0;
      common[i * width + j] = old[i] === fresh[j] ? (common[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(below, right);
    }
  }
  const found: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < fresh.length) {
    const below = common?.[(i + 1) * width + j] ?? 0;
    const right = common?.[i * width + j + 1] ?? 0;
    if (common && i < old.length && j < fresh.length && old[i] === fresh[j]) {
      found.push({ kind: "same", text: fresh[j] ?? "", number: j + 1 });
      i += 1;
      j += 1;
    } else if (i < old.length && (j >= fresh.length || below >= right)) {
      found.push({ kind: "old", text: old[i] ?? "", number: i + 1 });
      i += 1;
    } else {
      found.push({ kind: "new", text: fresh[j] ?? "", number: j + 1 });
      j += 1;
    }
  }
  return found;
}

/** Return the lines that differ and three around each; the others are gaps. Nothing if no line differs. */
export function difference(old: string, fresh: string): DiffLine[] {
  const all = compared(linesOf(old), linesOf(fresh));
  const near = new Set<number>();
  all.forEach((each, at) => {
    if (each.kind !== "same") for (let beside = at - AROUND; beside <= at + AROUND; beside += 1) near.add(beside);
  });
  const found: DiffLine[] = [];
  let left = 0;
  all.forEach((each, at) => {
    if (!near.has(at)) left += 1;
    if (left > 0 && (near.has(at) || at === all.length - 1)) {
      found.push({ kind: "gap", text: "", number: left });
      left = 0;
    }
    if (near.has(at)) found.push(each);
  });
  return near.size === 0 ? [] : found;
}
