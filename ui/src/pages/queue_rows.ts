// The tree of queues as rows of a table: which are shown, and how deep each is.

import type { Queue } from "../base/shapes";

export interface QueueRow {
  readonly queue: Queue;
  readonly depth: number;
  /** The last part of its path; the whole path while a search shows queues without their parents. */
  readonly label: string;
  /** How many queues are directly below it. */
  readonly children: number;
  readonly closed: boolean;
}

const BETWEEN = ",";

/** Return the rows in the order of the tree. search: a part of paths; closed: paths whose children are hidden. */
export function queueRows(root: Queue | undefined, search: string, closed: string): QueueRow[] {
  if (root === undefined) return [];
  const wanted = search.trim().toLowerCase();
  const hidden = new Set(closed.split(BETWEEN));
  const rows: QueueRow[] = [];
  const visit = (queue: Queue, depth: number): void => {
    const path = queue.queuename;
    const children = queue.children ?? [];
    const shut = wanted === "" && hidden.has(path);
    if (wanted === "" || path.toLowerCase().includes(wanted)) {
      const label = wanted === "" ? path.slice(path.lastIndexOf(".") + 1) : path;
      rows.push({ queue, depth: wanted === "" ? depth : 0, label, children: wanted === "" ? children.length : 0, closed: shut });
    }
    if (!shut) for (const child of children) visit(child, depth + 1);
  };
  visit(root, 0);
  return rows;
}

/** Return the closed paths after one was opened or closed. */
export function toggled(closed: string, path: string): string {
  const paths = closed.split(BETWEEN).filter((each) => each !== "");
  const left = paths.filter((each) => each !== path);
  return (left.length < paths.length ? left : [...paths, path]).join(BETWEEN);
}
