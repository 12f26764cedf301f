// Reads the metrics of the scheduler, and picks what tells an operator how it fares.

import { duration } from "../base/times";
import { amount, count, percent } from "../base/units";

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export type Metrics = ReadonlyMap<string, readonly Sample[]>;

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([-+]?(?:\d\S*|Inf|NaN))/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Read the text form of Prometheus. Lines that are something else are passed over. */
export function readMetrics(text: string): Metrics {
  const found = new Map<string, Sample[]>();
  for (const line of text.split("\n")) {
    const parts = line.startsWith("#") ? null : LINE.exec(line);
    if (parts === null) continue;
    const labels = Object.fromEntries([...(parts[2] ?? "").matchAll(LABEL)].map((each) => [each[1] ?? "", each[2] ?? ""]));
    const name = parts[1] ?? "";
    const list = found.get(name) ?? [];
    list.push({ labels, value: Number(parts[3]) });
    found.set(name, list);
  }
  return found;
}

function sum(metrics: Metrics, name: string, fits: Readonly<Record<string, string>> = {}): number | undefined {
  const samples = metrics.get(name)?.filter((each) => Object.entries(fits).every(([key, value]) => each.labels[key] === value));
  return samples?.reduce((all, each) => all + each.value, 0);
}

const S = "yunikorn_scheduler_";
let last: { readonly at: number; readonly allocated: number; readonly rate: number } | undefined;

/** Return placements per second since the last look; undefined at the first. */
function rate(allocated: number, now: number): number | undefined {
  const before = last;
  if (before === undefined || allocated < before.allocated || now - before.at < 500) {
    if (before === undefined || allocated < before.allocated) last = { at: now, allocated, rate: 0 };
    return before?.rate;
  }
  const found = ((allocated - before.allocated) * 1_000) / (now - before.at);
  last = { at: now, allocated, rate: found };
  return found;
}

function mean(metrics: Metrics, stem: string): string | undefined {
  const times = sum(metrics, `${stem}_count`);
  const all = sum(metrics, `${stem}_sum`);
  if (!times || all === undefined) return undefined;
  const micro = (all / times) * 1e6;
  return micro < 1_000 ? `${micro.toFixed(0)} µs` : `${(micro / 1_000).toFixed(1)} ms`;
}

/** Return names and values for people; what the scheduler does not tell is left out. */
export function internals(metrics: Metrics, now: number): (readonly [string, string])[] {
  const facts: [string, string | undefined][] = [];
  const add = (name: string, value: number | undefined, form: (value: number) => string): void => {
    facts.push([name, value === undefined ? undefined : form(value)]);
  };
  const allocated = sum(metrics, `${S}container_allocation_attempt_total`, { state: "allocated" });
  const speed = allocated === undefined ? undefined : rate(allocated, now);
  add("Allocations", allocated, count);
  add("Allocations a second", speed, (value) => value.toFixed(value < 10 ? 1 : 0));
  facts.push(["Mean scheduling step", mean(metrics, `${S}scheduling_step_seconds`)]);
  facts.push(["Mean scheduling cycle", mean(metrics, `${S}scheduling_cycle_seconds`)]);
  add("Longest lag lately", sum(metrics, "yunikorn_runtime_py_scheduler_lag_seconds"), (value) => `${(value * 1e3).toFixed(1)} ms`);
  add("Faults", sum(metrics, `${S}faults_total`), count);
  add("Wrong sums found", sum(metrics, `${S}self_audit_violations_total`), count);
  add("Limits hit", sum(metrics, `${S}limit_hits_total`), count);
  add("Requests over HTTP", sum(metrics, "yunikorn_rest_requests_total"), count);
  add("Event streams", sum(metrics, "yunikorn_event_streams"), count);
  add("Memory", sum(metrics, "process_resident_memory_bytes"), (value) => amount("memory", value));
  add("Of its memory limit", sum(metrics, `${S}memory_share`) || undefined, percent);
  add("Processor time", sum(metrics, "process_cpu_seconds_total"), (value) => `${count(Math.round(value))} s`);
  add("Open files", sum(metrics, "process_open_fds"), count);
  add("Lease held", sum(metrics, `${S}lease_active`), (value) => (value > 0 ? "yes" : "no"));
  add("Journal", sum(metrics, `${S}journal_broken`), (value) => (value > 0 ? "broken" : "written"));
  add("Longest wait", longestWait(metrics), (value) => duration(value * 1e3));
  return facts.filter((each): each is [string, string] => each[1] !== undefined);
}

function longestWait(metrics: Metrics): number | undefined {
  const waits = metrics.get("yunikorn_queue_oldest_pending_seconds")?.map((each) => each.value);
  return waits && waits.length > 0 ? Math.max(...waits) : undefined;
}
