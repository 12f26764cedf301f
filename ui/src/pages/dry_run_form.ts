// What the form of a dry run has in it, and the submission that it describes (EXT-64).

/** The fields, as they stand in the address. */
export type Fields = ReadonlyMap<string, string>;

export const TEXTS = ["queue", "user", "groups", "cpus", "memory", "more", "copies", "priority", "within"] as const;

export interface Wanted {
  /** undefined: something is wrong with the fields. */
  readonly submission?: object;
  readonly fault?: string;
}

/** Return amounts by type out of `type=amount` with spaces between; undefined: it is something else. */
export function readAmounts(text: string): Record<string, string> | undefined {
  const found: Record<string, string> = {};
  for (const each of text.split(/\s+/).filter((part) => part !== "")) {
    const [, type, amount] = /^([^=]+)=([^=]+)$/.exec(each) ?? [];
    if (type === undefined || amount === undefined || Object.hasOwn(found, type)) return undefined;
    found[type] = amount;
  }
  return found;
}

function whole(text: string, usual: number, least: number, most: number): number | undefined {
  if (text.trim() === "") return usual;
  const value = /^-?\d{1,10}$/.test(text.trim()) ? Number(text) : NaN;
  return value >= least && value <= most ? value : undefined;
}

/** Return the submission of the fields. The service checks amounts and names. */
export function submissionOf(fields: Fields): Wanted {
  const text = (key: string): string => (fields.get(key) ?? "").trim();
  const more = readAmounts(text("more"));
  if (more === undefined) return { fault: "More resources: write each once, as TYPE=AMOUNT, such as nvidia.com/gpu=1." };
  const resource: Record<string, string> = { ...more };
  if (text("cpus") !== "") resource["vcore"] = text("cpus");
  if (text("memory") !== "") resource["memory"] = text("memory");
  if (Object.keys(resource).length === 0) return { fault: "Say how large one allocation is: cores, memory or more." };
  const copies = whole(text("copies"), 1, 1, 10_000);
  if (copies === undefined) return { fault: "Allocations: write a number from 1 to 10,000." };
  const priority = whole(text("priority"), 0, -(2 ** 31), 2 ** 31 - 1);
  if (priority === undefined) return { fault: "Priority: write a whole number." };
  const within = whole(text("within"), 0, 0, 86_400);
  if (within === undefined) return { fault: "Look ahead: write seconds, up to 86,400." };
  const groups = text("groups").split(",").map((each) => each.trim()).filter((each) => each !== "");
  const asks = fields.get("gang") === "1"
    ? { taskGroups: [{ name: "member", minMember: copies, minResource: resource, priority }] }
    : { asks: [{ allocationKey: "ask", resource, maxAllocations: copies, priority }] };
  return {
    submission: {
      applicationId: "dry-run",
      queue: text("queue"),
      ...(text("user") === "" ? {} : { user: text("user") }),
      groups,
      allowPreemptOther: fields.get("preempt") === "1",
      within,
      ...asks,
    },
  };
}
