// The states that an application went through, as pieces of a line whose lengths are durations.

import type { Application } from "../base/shapes";
import { duration, milliseconds, moment, useNow } from "../base/times";
import { kind } from "./badge";

export interface Stretch {
  readonly state: string;
  readonly since: number;
  /** Milliseconds. */
  readonly lasted: number;
}

/** Return the stretches of an application up to a moment in milliseconds. */
export function stretches(application: Application, now: number): Stretch[] {
  const log = application.stateLog ?? [];
  const starts = [
    { state: "New", since: milliseconds(application.submissionTime) },
    ...log.map((each) => ({ state: each.applicationState, since: milliseconds(each.time) })),
  ];
  const end = application.finishedTime ? milliseconds(application.finishedTime) : now;
  return starts.map((each, index) => {
    const until = starts[index + 1]?.since ?? Math.max(end, each.since);
    return { ...each, lasted: Math.max(0, until - each.since) };
  });
}

export function StateLine({ application }: { readonly application: Application }) {
  const found = stretches(application, useNow());
  const whole = Math.max(1, found.reduce((sum, each) => sum + each.lasted, 0));
  return (
    <ol class="states" aria-label="States">
      {found.map((each, index) => (
        <li
          key={index}
          class={kind(each.state)}
          style={{ flexGrow: `${Math.max(0.02, each.lasted / whole)}` }}
          title={`${each.state} since ${moment(each.since * 1e6)}, ${duration(each.lasted)}`}
        >
          <b>{each.state}</b>
          <span>{duration(each.lasted)}</span>
        </li>
      ))}
    </ol>
  );
}
