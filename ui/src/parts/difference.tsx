// The lines in which two texts differ; a sign before each says which text has it.

import type { DiffLine } from "../base/line_diff";
import { count } from "../base/units";

const SIGNS = { same: " ", old: "−", new: "+", gap: "…" } as const;
const NAMES = { same: "", old: "taken away: ", new: "added: ", gap: "" } as const;

/** Lines that are drawn. */
const MOST = 2_000;

export function Difference({ lines }: { readonly lines: readonly DiffLine[] }) {
  return (
    <div class="diff" tabIndex={0} role="region" aria-label="Lines that differ">
      <pre>
        {lines.slice(0, MOST).map((each, index) => (
          <span key={index} class={`line ${each.kind}`}>
            <span class="sign" aria-hidden="true">{SIGNS[each.kind]}</span>
            <span class="hidden">{NAMES[each.kind]}</span>
            {each.kind === "gap" ? `${count(each.number)} ${each.number === 1 ? "line" : "lines"} as before` : each.text}
            {"\n"}
          </span>
        ))}
      </pre>
      {lines.length > MOST && <p class="faint">{count(lines.length - MOST)} more lines are not shown.</p>}
    </div>
  );
}
