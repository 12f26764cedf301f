// Times of the API (nanoseconds) as people read them, in the zone they chose.

import { Cell, useCell } from "./cell";
import { zone } from "./settings";

/** Seconds, as a clock that all pages share. */
const clock = new Cell<number>(Date.now());
setInterval(() => {
  if (!document.hidden) clock.set(Date.now());
}, 1_000);

/** Return the present moment in milliseconds; the component is drawn again each second. */
export function useNow(): number {
  return useCell(clock);
}

export function milliseconds(ns: number): number {
  return ns / 1e6;
}

const FORMATS = new Map<string, Intl.DateTimeFormat>();

function format(which: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${which} ${zone.get()}`;
  const known = FORMATS.get(key);
  if (known) return known;
  const zoned = zone.get() === "utc" ? { ...options, timeZone: "UTC" } : options;
  const made = new Intl.DateTimeFormat("sv-SE", { ...zoned, hourCycle: "h23" });
  FORMATS.set(key, made);
  return made;
}

const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit" } as const;
const DAY = { year: "numeric", month: "2-digit", day: "2-digit" } as const;

/** Return day and time; of no time, a dash. */
export function moment(ns: number | undefined): string {
  return ns ? format("moment", { ...DAY, ...CLOCK }).format(milliseconds(ns)) : "–";
}

/** Return the time of day; digits: of a second. */
export function clockTime(ms: number, digits: 0 | 3 = 0): string {
  if (digits === 0) return format("clock", CLOCK).format(ms);
  return format("fine", { ...CLOCK, fractionalSecondDigits: digits }).format(ms).replace(",", ".");
}

/** Return a duration in two units at most. */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000;
  if (seconds < 1) return `${Math.round(Math.max(0, ms))} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Return for how long something has lasted. */
export function lasted(ns: number | undefined, now: number): string {
  return ns ? duration(now - milliseconds(ns)) : "–";
}

/** Return how long ago something was. */
export function ago(ns: number | undefined, now: number): string {
  return ns ? `${duration(now - milliseconds(ns))} ago` : "–";
}
