// The state of a node in a word, which nodes fit the filters, and their order.

import type { Node } from "../base/shapes";
import { part } from "../base/units";
import type { Order } from "../parts/table";

export function nodeState(node: Node): string {
  if (node.ready === false) return "not ready";
  if (node.schedulable === false) return "draining";
  return node.isReserved ? "reserved" : "ready";
}

/** Return how much of a resource type is in use, between 0 and 1; -1: the node has none. */
export function share(node: Node, type: string): number {
  const whole = node.capacity?.[type] ?? 0;
  if (whole <= 0) return -1;
  return part((node.allocated?.[type] ?? 0) + (node.occupied?.[type] ?? 0), whole);
}

/** Return the nodes in a state whose names or attributes have a text in them. */
export function fitting(nodes: readonly Node[], search: string, state: string): Node[] {
  const wanted = search.trim().toLowerCase();
  return nodes.filter((node) => (state === "" || nodeState(node) === state) && (wanted === "" || has(node, wanted)));
}

function has(node: Node, wanted: string): boolean {
  if ([node.nodeID, node.hostName, node.rackName].some((each) => each?.toLowerCase().includes(wanted))) return true;
  const own = Object.entries(node.attributes ?? {}).filter(([key]) => !key.startsWith("si/"));
  return own.some(([key, value]) => `${key}=${value}`.toLowerCase().includes(wanted));
}

export function readNodeOrder(text: string): Order {
  if (text === "") return { key: "id", down: false };
  return text.startsWith("-") ? { key: text.slice(1), down: true } : { key: text, down: false };
}

/** Return nodes in order; those with equal keys by ID, in which numbers count as numbers. */
export function sortedNodes(nodes: readonly Node[], order: Order): Node[] {
  const [which, type = ""] = order.key.split(/ (.*)/s);
  const sign = order.down ? -1 : 1;
  const byId = new Intl.Collator("en", { numeric: true }).compare;
  const key = (node: Node): string | number => {
    if (which === "used") return share(node, type);
    if (which === "state") return nodeState(node);
    return which === "rack" ? (node.rackName ?? "") : 0;
  };
  return [...nodes].sort((a, b) => {
    const first = key(a);
    const second = key(b);
    if (first !== second) return first < second ? -sign : sign;
    return which === "id" ? sign * byId(a.nodeID, b.nodeID) : byId(a.nodeID, b.nodeID);
  });
}
