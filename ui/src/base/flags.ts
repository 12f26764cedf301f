// The words for the numbers of event records.

const TYPES = ["unknown", "request", "application", "node", "queue", "user or group"];
const CHANGES = ["", "set", "added", "removed"];

const DETAILS: Readonly<Record<number, string>> = {
  100: "request cancelled", 101: "request allocated", 102: "request timed out",
  200: "allocation", 201: "request", 202: "rejected", 203: "new", 204: "accepted", 205: "starting",
  206: "running", 207: "completing", 208: "completed", 209: "failing", 210: "failed", 211: "resuming",
  212: "expired", 213: "waits for the queue's limit", 214: "below the queue's limit again",
  215: "waits for a user's limit", 216: "below the user's limit again",
  300: "decommissioned", 301: "ready", 302: "schedulable", 303: "allocation", 304: "capacity",
  305: "occupied", 306: "reservation",
  400: "configuration", 401: "dynamic", 402: "type", 403: "maximum", 404: "guarantee",
  405: "application", 406: "allocation",
  500: "allocation cancelled", 501: "allocation preempted", 502: "allocation timed out",
  503: "placeholder replaced", 504: "node removed",
  600: "limit of a user", 601: "limit of a group", 602: "application of a group",
  603: "use of a user", 604: "use of a group",
};

/** The filter of the service for each type. */
export const EVENT_TYPES: readonly (readonly [string, string])[] = [
  ["", "all"], ["APP", "applications"], ["REQUEST", "requests"], ["NODE", "nodes"], ["QUEUE", "queues"],
  ["USERGROUP", "users and groups"],
];

export function typeName(type: number | undefined): string {
  return TYPES[type ?? 0] ?? `type ${type}`;
}

/** Whether the words of a detail say all: states of applications, and ends of asks and allocations. */
function saysAll(detail: number): boolean {
  return (detail >= 100 && detail < 200) || (detail >= 202 && detail < 300) || (detail >= 500 && detail < 600);
}

/** Return what changed, in words; a number that is not known is shown. */
export function changeName(change: number | undefined, detail: number | undefined): string {
  const what = detail ? (DETAILS[detail] ?? `detail ${detail}`) : "";
  if (what !== "" && saysAll(detail ?? 0)) return what;
  return [what, CHANGES[change ?? 0] ?? ""].filter((each) => each !== "").join(" ");
}
