// Who took from whom, as sums between queues or users' applications, and how bands between them are laid out.

import type { Preemption } from "../base/shapes";

export interface Flow {
  readonly from: string;
  readonly to: string;
  /** Allocations that were ended. */
  readonly victims: number;
  /** Their amounts by resource type. */
  readonly taken: Readonly<Record<string, number>>;
}

export const SIDES = ["queues", "applications"] as const;

/** Return what each queue or application lost to each other one; the most allocations first. */
export function flows(preemptions: readonly Preemption[], side: string): Flow[] {
  const sums = new Map<string, { from: string; to: string; victims: number; taken: Record<string, number> }>();
  for (const each of preemptions) {
    for (const victim of each.victims) {
      const [from, to] =
        side === "applications"
          ? [victim.applicationId, each.applicationId || each.queueName]
          : [victim.queueName, each.queueName];
      const key = JSON.stringify([from, to]);
      const sum = sums.get(key) ?? { from, to, victims: 0, taken: {} };
      sum.victims += 1;
      for (const [type, value] of Object.entries(victim.resource ?? {})) sum.taken[type] = (sum.taken[type] ?? 0) + value;
      sums.set(key, sum);
    }
  }
  return [...sums.values()].sort((a, b) => b.victims - a.victims || (a.from + a.to < b.from + b.to ? -1 : 1));
}

/** What a flow counts: allocations, or an amount of a resource type. */
export function sizeOf(flow: Flow, type: string): number {
  return type === "" ? flow.victims : (flow.taken[type] ?? 0);
}

export interface End {
  readonly name: string;
  readonly size: number;
  readonly top: number;
  readonly height: number;
}

export interface Band {
  readonly flow: Flow;
  readonly size: number;
  /** Upper ends at both sides, and the height, which is the same at both. */
  readonly left: number;
  readonly right: number;
  readonly height: number;
}

export interface Picture {
  readonly left: readonly End[];
  readonly right: readonly End[];
  readonly bands: readonly Band[];
  readonly height: number;
}

const GAP = 10;
const LEAST = 16;

/** Lay out both sides and the bands between them within a height; small ends get the least height. */
export function picture(found: readonly Flow[], type: string, height: number): Picture {
  const bands = found.map((flow) => ({ flow, size: sizeOf(flow, type) })).filter((each) => each.size > 0);
  const whole = bands.reduce((sum, each) => sum + each.size, 0);
  const scale = whole > 0 ? height / whole : 0;
  const place = (name: (flow: Flow) => string): Map<string, End & { next: number }> => {
    const sizes = new Map<string, number>();
    for (const each of bands) sizes.set(name(each.flow), (sizes.get(name(each.flow)) ?? 0) + each.size);
    const ordered = [...sizes].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    const ends = new Map<string, End & { next: number }>();
    let top = 0;
    for (const [title, size] of ordered) {
      ends.set(title, { name: title, size, top, height: size * scale, next: top });
      top += Math.max(LEAST, size * scale) + GAP;
    }
    return ends;
  };
  const left = place((flow) => flow.from);
  const right = place((flow) => flow.to);
  const laid = bands.map(({ flow, size }) => {
    const [a, b] = [left.get(flow.from), right.get(flow.to)];
    const band = { flow, size, left: a?.next ?? 0, right: b?.next ?? 0, height: size * scale };
    if (a) a.next += band.height;
    if (b) b.next += band.height;
    return band;
  });
  const tall = (ends: Map<string, End>): number => Math.max(0, ...[...ends.values()].map((each) => each.top + Math.max(LEAST, each.height)));
  return { left: [...left.values()], right: [...right.values()], bands: laid, height: Math.max(tall(left), tall(right), LEAST) };
}
