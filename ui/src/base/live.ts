// Keeps the answer to a question up to date: asks again and again, slower while there is no answer.

import { useEffect, useState } from "preact/hooks";
import { AskError, ask } from "./client";
import { useCell } from "./cell";
import { refreshSeconds } from "./settings";
import { token } from "./token";

export interface Live<T> {
  readonly value: T | undefined;
  readonly total: number;
  /** What went wrong last; undefined: nothing. The value is then the last one that came. */
  readonly problem: AskError | undefined;
}

/** A question must not take more than this part of the time. */
const SHARE = 8;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;

/** Return the milliseconds until the next attempt after some that failed. */
export function retryDelay(failures: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** Math.max(0, failures - 1), LAST_RETRY_MS);
}

/** Wait; ends early when the signal is aborted, or when the page is seen again. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      document.removeEventListener("visibilitychange", seen);
      resolve();
    };
    const seen = (): void => {
      if (!document.hidden) done();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
    document.addEventListener("visibilitychange", seen);
  });
}

function shown(signal: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return pause(2 ** 31 - 1, signal);
}

/**
 * Ask a question until the signal is aborted, and hand over each new answer or problem.
 *
 * seconds: between two questions; 0: one answer is enough. A page that nobody sees asks nothing.
 */
export async function follow<T>(
  path: string,
  seconds: number,
  signal: AbortSignal,
  told: (value: T | undefined, total: number, problem: AskError | undefined) => void,
): Promise<void> {
  let failures = 0;
  let tag = "";
  while (!signal.aborted) {
    await shown(signal);
    const began = performance.now();
    try {
      const answer = await ask<T>(path, { signal, tag });
      if (signal.aborted) return;
      tag = answer.tag;
      if (answer.value !== undefined || failures > 0) told(answer.value, answer.total, undefined);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      told(undefined, -1, error instanceof AskError ? error : new AskError(0, String(error)));
      await pause(retryDelay(failures), signal);
      continue;
    }
    if (seconds === 0) return;
    await pause(Math.max(seconds * 1_000, (performance.now() - began) * SHARE), signal);
  }
}

const NOTHING = { value: undefined, total: -1, problem: undefined };

/** Return the newest answer to a question; no path, no question. least: seconds between two at least. */
export function useLive<T>(path: string | undefined, least = 0): Live<T> {
  const [held, setHeld] = useState<{ path: string | undefined; live: Live<T> }>({ path, live: NOTHING });
  const chosen = useCell(refreshSeconds);
  const known = useCell(token);
  useEffect(() => {
    if (path === undefined) return;
    const control = new AbortController();
    const seconds = chosen === 0 ? 0 : Math.max(chosen, least);
    void follow<T>(path, seconds, control.signal, (value, total, problem) => {
      setHeld((before) => {
        const old = before.path === path ? before.live : NOTHING;
        const live =
          value === undefined ? { ...old, problem } : { value, total: total < 0 ? old.total : total, problem };
        return { path, live };
      });
    });
    return () => control.abort();
  }, [path, chosen, known, least]);
  return held.path === path ? held.live : NOTHING;
}
