// Which list of the service holds the applications that are asked for, and how rows are sorted.

import type { Application, Queue } from "../base/shapes";
import type { Order } from "../parts/table";

/** What a row shows; asks and allocations are left out of the answer. */
const FIELDS =
  "applicationID,applicationState,queueName,user,usedResource,pendingResource,submissionTime,finishedTime";

export interface Source {
  readonly names: readonly string[];
  readonly query: Readonly<Record<string, string>>;
  /** A queue by which rows have still to be filtered; empty: the service does it, or none is named. */
  readonly queue: string;
}

export const LISTS = ["active", "completed", "rejected"];

/** Return where to ask. leaf: the service can answer for the queue of the address alone. */
export function applicationSource(query: ReadonlyMap<string, string>, leaf: boolean): Source {
  const named = query.get("list") ?? "";
  const list = LISTS.includes(named) ? named : "active";
  const status = list === "active" ? (query.get("state") ?? "") : "";
  const fields: Record<string, string> = status === "" ? { fields: FIELDS } : { fields: FIELDS, status };
  const queue = query.get("queue") ?? "";
  if (list === "active" && leaf) {
    return { names: ["queue", queue, "applications", "active"], query: fields, queue: "" };
  }
  return { names: ["applications", list], query: fields, queue };
}

/** Whether a path is that of a leaf in a tree of queues. */
export function isLeaf(root: Queue | undefined, path: string): boolean {
  if (root === undefined) return false;
  if (root.queuename === path) return root.isLeaf;
  return below(root.queuename, path) && (root.children ?? []).some((each) => isLeaf(each, path));
}

/** Read an order from the address: a key, with a minus for descending. */
export function readOrder(text: string): Order {
  if (text === "") return { key: "submitted", down: true };
  return text.startsWith("-") ? { key: text.slice(1), down: true } : { key: text, down: false };
}

function keyOf(order: string): (row: Application) => string | number {
  const [which, type = ""] = order.split(/ (.*)/s);
  switch (which) {
    case "state": return (row) => row.applicationState;
    case "queue": return (row) => row.queueName;
    case "user": return (row) => row.user;
    case "submitted": return (row) => row.submissionTime;
    case "used": return (row) => row.usedResource?.[type] ?? 0;
    case "waiting": return (row) => row.pendingResource?.[type] ?? 0;
    default: return (row) => row.applicationID;
  }
}

function below(queue: string, path: string): boolean {
  return path === queue || path.startsWith(`${queue}.`);
}

/** Return the rows that fit, in order; rows with equal keys by ID. */
export function sorted(rows: readonly Application[], search: string, queue: string, order: Order): Application[] {
  const wanted = search.trim().toLowerCase();
  const fits = (row: Application): boolean =>
    (queue === "" || below(queue, row.queueName)) &&
    (wanted === "" || row.applicationID.toLowerCase().includes(wanted) || row.user.toLowerCase().includes(wanted));
  const key = keyOf(order.key);
  const found = wanted === "" && queue === "" ? [...rows] : rows.filter(fits);
  const sign = order.down ? -1 : 1;
  return found.sort((a, b) => {
    const first = key(a);
    const second = key(b);
    if (first !== second) return first < second ? -sign : sign;
    return a.applicationID < b.applicationID ? -1 : 1;
  });
}
