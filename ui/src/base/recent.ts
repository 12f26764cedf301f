// Remembers figures while the pages are open, for charts of the last half hour.

import { useEffect, useReducer } from "preact/hooks";

const MOST = 720;
const SPAN_MS = 30 * 60_000;

export class Recent {
  readonly times: number[] = [];
  private readonly lines = new Map<string, number[]>();

  /** Add figures of a moment in milliseconds; those too close to the last are left out. */
  add(now: number, figures: Readonly<Record<string, number>>): void {
    const last = this.times[this.times.length - 1];
    if (last !== undefined && now - last < SPAN_MS / MOST) return;
    for (const name of Object.keys(figures)) {
      if (!this.lines.has(name)) this.lines.set(name, this.times.map(() => 0));
    }
    this.times.push(now);
    for (const [name, values] of this.lines) values.push(figures[name] ?? 0);
    while (this.times.length > MOST || (this.times[0] ?? now) < now - SPAN_MS) {
      this.times.shift();
      for (const values of this.lines.values()) values.shift();
    }
  }

  names(): string[] {
    return [...this.lines.keys()];
  }

  values(name: string): readonly number[] {
    return this.lines.get(name) ?? [];
  }
}

const KEPT = new Map<string, Recent>();

/** Keep figures under a key from one visit of a page to the next, and add them when they change. */
export function useRecent(key: string, figures: Readonly<Record<string, number>> | undefined, mark: unknown): Recent {
  const [, draw] = useReducer<number, void>((turn) => turn + 1, 0);
  let recent = KEPT.get(key);
  if (recent === undefined) KEPT.set(key, (recent = new Recent()));
  const kept = recent;
  useEffect(() => {
    if (figures === undefined) return;
    kept.add(Date.now(), figures);
    draw();
  }, [mark]);
  return kept;
}
