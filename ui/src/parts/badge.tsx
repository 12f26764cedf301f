// A state in a word, with a sign, so that colour is never all that tells.

const GOOD = new Set(["Running", "Active", "Completed", "placed", "done", "ready"]);
const BUSY = new Set(["New", "Accepted", "Starting", "Completing", "Resuming", "waiting", "waits"]);
const WORN = new Set(["Draining", "Expired", "draining", "reserved"]);

const SIGNS = { good: "●", busy: "○", worn: "◐", bad: "▲" } as const;

export function kind(state: string): keyof typeof SIGNS {
  if (GOOD.has(state)) return "good";
  if (BUSY.has(state)) return "busy";
  return WORN.has(state) ? "worn" : "bad";
}

export function Badge({ state }: { readonly state: string }) {
  const which = kind(state);
  return (
    <span class={`badge ${which}`}>
      <span aria-hidden="true">{SIGNS[which]}</span> {state}
    </span>
  );
}
