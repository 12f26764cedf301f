// The address of the page is its state: page, object and filters stand behind the # and can be copied.

import { Cell, useCell } from "./cell";

export interface Place {
  readonly page: string;
  /** What stands behind the page: names of objects, decoded. */
  readonly names: readonly string[];
  readonly query: ReadonlyMap<string, string>;
}

/** Query keys that every link keeps: they say what is looked at, not how. */
const KEPT = ["partition", "rm", "kiosk"];

/** Read what stands behind the #. A broken escape is taken as it is. */
export function readPlace(hash: string): Place {
  const [path = "", search = ""] = hash.replace(/^#?\/?/, "").split(/\?(.*)/s);
  const [page = "", ...names] = path.split("/").map(decoded);
  return { page: page || "overview", names, query: new Map(new URLSearchParams(search)) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Return the address of a place, with # at its beginning. Empty values are left out. */
export function address(
  page: string,
  names: readonly string[] = [],
  query: Iterable<readonly [string, string]> = [],
): string {
  const path = [page, ...names].map(encodeURIComponent).join("/");
  const search = new URLSearchParams();
  for (const [key, value] of query) if (value !== "") search.set(key, value);
  const text = search.toString();
  return text === "" ? `#/${path}` : `#/${path}?${text}`;
}

export const place = new Cell<Place>(readPlace(""));

/** Follow the address of the page. */
export function followAddress(): void {
  const read = (): void => place.set(readPlace(location.hash));
  addEventListener("hashchange", read);
  read();
}

export function usePlace(): Place {
  return useCell(place);
}

/** Return a link to another place of the same partition. */
export function link(page: string, names: readonly string[] = [], query: Record<string, string> = {}): string {
  const kept = KEPT.map((key) => [key, place.get().query.get(key) ?? ""] as const);
  return address(page, names, [...kept, ...Object.entries(query)]);
}

/** Change filters of this page; an empty value takes one away. The way back does not see each letter. */
export function setFilters(changes: Record<string, string>): void {
  const here = place.get();
  const query = new Map(here.query);
  for (const [key, value] of Object.entries(changes)) query.set(key, value);
  const next = address(here.page, here.names, query);
  history.replaceState(null, "", next);
  place.set(readPlace(next));
}
