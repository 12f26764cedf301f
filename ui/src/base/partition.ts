// Which partition the pages show: the one that the address names, else the one that is called default,
// else the first.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { api, withQuery } from "./client";
import type { Live } from "./live";
import { useLive } from "./live";
import { usePlace } from "./place";
import type { Partition } from "./shapes";

const USUAL = "default";

/** All partitions that the caller may see; the frame of the pages asks for them. */
export const Partitions = createContext<Live<Partition[]>>({ value: undefined, total: -1, problem: undefined });

export function useAllPartitions(): Live<Partition[]> {
  return useLive<Partition[]>(api("partitions"));
}

/** Return the partition that a place shows; undefined: there is none, or it is not known yet. */
export function chosen(all: readonly Partition[] | undefined, name: string, rm: string): Partition | undefined {
  const fits = (each: Partition): boolean => (name === "" || each.name === name) && (rm === "" || each.clusterId === rm);
  const found = all?.filter(fits) ?? [];
  return found.find((each) => each.name === USUAL) ?? found[0];
}

/** Return the partition that is shown, as far as it is known. */
export function usePartition(): Partition | undefined {
  const { query } = usePlace();
  return chosen(useContext(Partitions).value, query.get("partition") ?? "", query.get("rm") ?? "");
}

/** Whether the pages know which partition to ask about; a caller who may not see the list asks by the usual name. */
export function useReady(): boolean {
  const { query } = usePlace();
  const all = useContext(Partitions);
  return Boolean(query.get("partition")) || all.value !== undefined || all.problem !== undefined;
}

/** Return a function that makes addresses of the API below the partition that is shown. */
export function usePartitionApi(): (names: readonly string[], query?: Record<string, string | number>) => string {
  const { query } = usePlace();
  const shown = usePartition();
  const name = query.get("partition") || shown?.name || USUAL;
  const rm = query.get("rm") ?? "";
  return (names, more = {}) => withQuery(api("partition", name, ...names), { ...more, rm });
}
