// Keeps a long list up to date: what is in view always, everything only while that is cheap.

import { useCallback, useEffect, useMemo } from "preact/hooks";
import { useCell } from "./cell";
import { retryDelay } from "./live";
import { PagedList } from "./paged_list";
import { refreshSeconds } from "./settings";
import { token } from "./token";

/** Lists up to this length are fetched whole again and again, so they can be sorted without a wait. */
export const SHORT = 2_000;

/** Milliseconds between two looks at whether the first page has come. */
const FIRST_MS = 50;

export interface List<T> {
  readonly list: PagedList<T>;
  /** Grows when rows have come. */
  readonly version: number;
  readonly onView: (first: number, end: number) => void;
}

/** Follow a list. whole: everything is needed, to be searched or sorted, however long the list is. */
export function useList<T>(path: string, query: Readonly<Record<string, string>>, whole: boolean): List<T> {
  const known = useCell(token);
  const chosen = useCell(refreshSeconds);
  const key = JSON.stringify([path, query, known]);
  const list = useMemo(() => new PagedList<T>(path, query), [key]);
  useEffect(() => () => list.close(), [list]);
  useEffect(() => {
    const control = new AbortController();
    void keep(list, chosen, whole, control.signal);
    return () => control.abort();
  }, [list, chosen, whole]);
  const version = useCell(list.version);
  const onView = useCallback((first: number, end: number) => list.view(first, end), [list]);
  return { list, version, onView };
}

async function keep<T>(list: PagedList<T>, seconds: number, whole: boolean, signal: AbortSignal): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    if (!document.hidden || list.total < 0) {
      if (whole || list.all !== undefined || (list.total >= 0 && list.total <= SHORT)) {
        if (!list.complete || list.total <= SHORT) await list.fetchAll();
      } else {
        await list.refresh();
        if (list.total >= 0 && list.total <= SHORT) continue;
      }
    }
    failures = list.problem === undefined ? 0 : failures + 1;
    if (failures === 0 && list.total < 0) {
      // The first page is on its way for what is in view.
      await new Promise((resolve) => setTimeout(resolve, FIRST_MS));
      continue;
    }
    if (failures === 0 && seconds === 0) return;
    const wait = failures > 0 ? retryDelay(failures) : seconds * 1_000;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
