// Amounts of resource types as people read them (WEB-24, WEB-25).

export type Amounts = Readonly<Record<string, number>>;

const FIRST = ["memory", "vcore", "pods", "ephemeral-storage"];
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const DECIMAL = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
const PLAIN = ["", "k", "M", "G", "T", "P", "E"];

/** Return resource types in the order in which they are shown. */
export function ordered(types: Iterable<string>): string[] {
  const rank = (type: string): number => {
    const at = FIRST.indexOf(type);
    return at < 0 ? FIRST.length : at;
  };
  return [...new Set(types)].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0));
}

/** Return the name of a type in a heading: a vendor's domain is left out. */
export function label(type: string): string {
  if (type === "memory") return "Memory";
  if (type === "vcore") return "CPU";
  const short = type.slice(type.lastIndexOf("/") + 1);
  return short === "gpu" ? "GPU" : short || type;
}

function scaled(value: number, base: number, units: readonly string[]): string {
  let size = Math.abs(value);
  let step = 0;
  while (size >= base && step < units.length - 1) {
    size /= base;
    step += 1;
  }
  const digits = size >= 100 || Number.isInteger(size) ? 0 : size >= 10 ? 1 : 2;
  const text = String(Number(size.toFixed(digits)));
  const unit = units[step] ?? "";
  const gap = unit.length > 1 || unit === "B" ? " " : "";
  return `${value < 0 ? "-" : ""}${text}${gap}${unit}`;
}

/** Return an amount with its unit: bytes as GiB, thousandths of a core as cores. */
export function amount(type: string, value: number): string {
  if (type === "memory" || type.startsWith("hugepages-")) return scaled(value, 1024, BINARY);
  if (type === "ephemeral-storage") return scaled(value, 1000, DECIMAL);
  if (type !== "vcore") return scaled(value, 1000, PLAIN);
  if (value !== 0 && Math.abs(value) < 1000) return `${value}m`;
  return scaled(value / 1000, 1000, PLAIN);
}

/** Return all amounts in one line. */
export function amounts(values: Amounts | undefined, none = "none"): string {
  const types = ordered(Object.keys(values ?? {}));
  return types.map((type) => `${label(type)} ${amount(type, values?.[type] ?? 0)}`).join(", ") || none;
}

/** Return the amounts that are not 0. */
export function positive(values: Amounts | undefined): Amounts {
  return Object.fromEntries(Object.entries(values ?? {}).filter(([, value]) => value > 0));
}

/** Return a part of a whole between 0 and 1; of nothing, everything is used as soon as there is use. */
export function part(used: number, whole: number): number {
  if (used <= 0) return 0;
  return whole <= 0 ? 1 : Math.min(1, used / whole);
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** Return a whole number with gaps between thousands. */
export function count(value: number): string {
  return value.toLocaleString("en-GB").replaceAll(",", "\u202f");
}
