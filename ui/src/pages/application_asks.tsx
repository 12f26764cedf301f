// The asks of an application that wait, each with the reason, and what would help.

import { useState } from "preact/hooks";
import type { AskError } from "../base/client";
import type { Application, Ask, Finding, Pending, PendingAsk } from "../base/shapes";
import { lasted, useNow } from "../base/times";
import { amounts, count } from "../base/units";
import { Panel } from "../parts/panel";
import { Explanation } from "./explanation";

/** Asks that are shown; the count says how many there are. */
const SHOWN = 50;

interface AsksProps {
  readonly application: Application;
  readonly pending: Pending | undefined;
  readonly problem: AskError | undefined;
}

export function ApplicationAsks({ application, pending, problem }: AsksProps) {
  const asks = application.requests ?? [];
  const [open, setOpen] = useState("");
  const known = new Map((pending?.requests ?? []).map((each) => [each.allocationKey, each]));
  return (
    <Panel title={`Why it waits: ${count(asks.length)} ${asks.length === 1 ? "ask" : "asks"}`} problem={problem}>
      <ul class="list asks">
        {asks.slice(0, SHOWN).map((ask) => (
          <AskItem
            key={ask.allocationKey}
            ask={ask}
            pending={known.get(ask.allocationKey)}
            open={open === ask.allocationKey}
            onOpen={() => setOpen(open === ask.allocationKey ? "" : ask.allocationKey)}
            application={application.applicationID}
          />
        ))}
      </ul>
      {asks.length > SHOWN && <p class="faint">{count(asks.length - SHOWN)} more asks wait.</p>}
    </Panel>
  );
}

interface AskProps {
  readonly application: string;
  readonly ask: Ask;
  readonly pending: PendingAsk | undefined;
  readonly open: boolean;
  readonly onOpen: () => void;
}

function AskItem({ application, ask, pending, open, onOpen }: AskProps) {
  const now = useNow();
  return (
    <li>
      <div class="head">
        <b>{ask.allocationKey}</b>
        <span>{(ask.pendingCount ?? 1) > 1 ? `${count(ask.pendingCount ?? 1)} × ` : ""}{amounts(ask.resource)}</span>
        {ask.placeholder && <span class="faint">placeholder of {ask.taskGroupName}</span>}
        {ask.priority && ask.priority !== "0" && <span class="faint">priority {ask.priority}</span>}
        {ask.requiredNodeId && <span class="faint">only on {ask.requiredNodeId}</span>}
        <span class="faint">waits for {lasted(pending?.since ?? ask.requestTime, now)}</span>
        <button type="button" aria-expanded={open} onClick={onOpen}>{open ? "Close" : "Explain"}</button>
      </div>
      <p>{reason(ask, pending)}</p>
      {open && <Explanation application={application} ask={ask.allocationKey} />}
    </li>
  );
}

/** Return why an ask waits in one sentence. */
export function reason(ask: Ask, pending: PendingAsk | undefined): string {
  const gate = pending?.finding?.gate ?? pending?.reason;
  if (gate === undefined || gate === "") {
    const last = ask.allocationLog?.at(-1);
    return last ? `Last found: ${last.message}` : "No decision has looked at it yet.";
  }
  const subject = pending?.finding?.subject ?? pending?.subject;
  const times = (pending?.attempts ?? 0) > 1 ? `, found ${count(pending?.attempts ?? 0)} times in a row` : "";
  return `It waits for: ${gate}${subject ? ` (${subject})` : ""}${times}.${detail(pending?.finding)}`;
}

function detail(finding: Finding | undefined): string {
  if (finding === undefined) return "";
  const parts: string[] = [];
  if (finding.available) parts.push(`${amounts(finding.available)} available`);
  const nodes = finding.nodes;
  if (nodes) {
    const words: (readonly [string, number | undefined])[] = [
      ["too small", nodes.tooSmall], ["without room now", nodes.noRoom], ["reserved", nodes.reserved],
      ["draining", nodes.draining], ["refused by predicates", nodes.refused],
    ];
    const found = words.filter(([, number]) => number).map(([word, number]) => `${count(number ?? 0)} ${word}`);
    parts.push(`${count(nodes.total ?? 0)} nodes: ${found.join(", ") || "none looked at"}`);
  }
  return parts.length > 0 ? ` ${parts.join("; ")}.` : "";
}
