// What the service says of a configuration: faults at their lines, and the impact by kinds.

import type { Amounts } from "../base/units";
import { amount, amounts, count, label } from "../base/units";

export interface Fault {
  /** The number of the line; 0: it has none. */
  readonly line: number;
  readonly words: string;
}

/** Return the faults of a refusal, which begin with `config:LINE:COLUMN: ` and have semicolons between. */
export function faultsOf(reason: string): Fault[] {
  return reason.split(/; (?=[Cc]onfig:|and \d+ more$)/).map((each) => {
    const found = /^[Cc]onfig:(\d{1,7}):\d{1,7}: ?(.*)$/s.exec(each);
    if (found) return { line: Number(found[1]), words: found[2] ?? "" };
    return { line: 0, words: each.replace(/^[Cc]onfig: ?/, "") };
  });
}

export interface Section {
  readonly title: string;
  readonly entries: readonly string[];
}

interface Amount {
  readonly queue: string;
  readonly resource_type: string;
  readonly before: number | null;
  readonly after: number | null;
  readonly against: number;
}

/** The impact of a configuration (EXT-67), with the keys of the Python API. */
export interface Impact {
  readonly queues_gone?: readonly { readonly queue: string; readonly applications: number; readonly allocated?: Amounts }[];
  readonly quotas_below_usage?: readonly Amount[];
  readonly guarantees_unmet?: readonly Amount[];
  readonly preemptible?: readonly Amount[];
  readonly moved?: readonly { readonly application_id: string; readonly before: string; readonly after: string; readonly reason?: string }[];
  readonly asks?: readonly { readonly application_id: string; readonly allocation_key: string; readonly before: readonly string[]; readonly after: readonly string[] }[];
  readonly ended?: readonly string[];
  readonly kept?: readonly string[];
}

/** Return the kinds of differences that there are, each with a sentence for each difference. */
export function sectionsOf(impact: Impact): Section[] {
  const of = (type: string, value: number | null): string => (value === null ? "no limit" : amount(type, value));
  const nodes = (names: readonly string[]): string => (names.length === 0 ? "not placed" : `on ${names.join(", ")}`);
  const found: Section[] = [
    {
      title: "Queues that go",
      entries: (impact.queues_gone ?? []).map((each) => `${each.queue}: ${count(each.applications)} applications, uses ${amounts(each.allocated, "nothing")}`),
    },
    {
      title: "Maxima below what is used",
      entries: (impact.quotas_below_usage ?? []).map(({ queue, resource_type: type, ...each }) =>
        `${queue}: ${label(type)} ${amount(type, each.against)} used, at most ${of(type, each.after)} instead of ${of(type, each.before)}`),
    },
    {
      title: "Guarantees that cannot be met",
      entries: (impact.guarantees_unmet ?? []).map(({ queue, resource_type: type, ...each }) =>
        `${queue}: ${label(type)} ${of(type, each.after)} guaranteed, of which it can have ${amount(type, each.against)}`),
    },
    {
      title: "Work that becomes preemptible",
      entries: (impact.preemptible ?? []).map(({ queue, resource_type: type, ...each }) =>
        `${queue}: ${label(type)} ${of(type, each.after)} instead of ${of(type, each.before)}, of ${amount(type, each.against)} used`),
    },
    {
      title: "Applications that would be placed elsewhere",
      entries: (impact.moved ?? []).map((each) =>
        `${each.application_id}: ${each.after || "refused"} instead of ${each.before || "refused"}${each.reason ? ` (${each.reason})` : ""}`),
    },
    {
      title: "Asks with another outcome",
      entries: (impact.asks ?? []).map((each) => `${each.application_id}/${each.allocation_key}: ${nodes(each.after)} instead of ${nodes(each.before)}`),
    },
    { title: "Allocations that would be ended", entries: impact.ended ?? [] },
    { title: "Allocations that would no longer be ended", entries: impact.kept ?? [] },
  ];
  return found.filter((each) => each.entries.length > 0);
}
