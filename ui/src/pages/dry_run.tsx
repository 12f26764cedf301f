// A dry run: what would happen if something were submitted to a queue now, tried on a copy of the scheduler.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { AskError, answered } from "../base/client";
import { usePartitionApi } from "../base/partition";
import { link, setFilters, usePlace } from "../base/place";
import { duration } from "../base/times";
import { count } from "../base/units";
import { Badge } from "../parts/badge";
import { Panel } from "../parts/panel";
import type { Fields } from "./dry_run_form";
import { TEXTS, submissionOf } from "./dry_run_form";

interface Placed {
  readonly applicationId: string;
  readonly allocationKey: string;
  readonly nodeId: string;
  readonly after: number;
  readonly placeholder?: boolean;
}

interface Answer {
  readonly outcome: string;
  readonly queueName?: string;
  readonly text: readonly string[];
  readonly refusals?: readonly { readonly subject: string; readonly reason: string; readonly rule: string }[];
  readonly placed?: readonly Placed[];
  readonly placedCount?: number;
  readonly waiting?: readonly { readonly allocationKey: string; readonly pending: number; readonly gate?: string; readonly subject?: string }[];
  readonly victims?: readonly { readonly applicationId: string; readonly allocationKey: string; readonly nodeId: string; readonly queueName: string }[];
  readonly victimsCount?: number;
  readonly hidden?: number;
}

/** Rows of each list; the count says how many there are. */
const SHOWN = 50;

export function DryRunPage() {
  const { query } = usePlace();
  const at = usePartitionApi();
  const [busy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<Answer>();
  const [tried, setTried] = useState("");
  const [problem, setProblem] = useState<AskError>();
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const wanted = submissionOf(query);
  const body = JSON.stringify(wanted.submission);
  const run = async (): Promise<void> => {
    if (wanted.submission === undefined) return;
    const control = (running.current = new AbortController());
    setBusy(true);
    setTried(body);
    setAnswer(undefined);
    setProblem(undefined);
    try {
      const response = await answered(at(["dry-run"]), { method: "POST", body, signal: control.signal });
      setAnswer((await response.json()) as Answer);
    } catch (error) {
      if (control.signal.aborted) return;
      setProblem(error instanceof AskError ? error : new AskError(0, String(error)));
    }
    setBusy(false);
  };
  return (
    <>
      <div class="head"><h1>Dry run</h1><span class="faint">tried on a copy of the scheduler; nothing is changed</span></div>
      <div class="columns">
        <Panel title="What would be submitted">
          <Form fields={query} busy={busy} fault={wanted.fault} onRun={() => void run()} />
        </Panel>
        <Panel title="What would happen" problem={problem}>
          <div role="status">
            {busy && <p class="faint">It is tried…</p>}
            {!busy && problem?.status === 0 && <p class="problem">{problem.message}</p>}
            {answer && tried !== body && <p class="faint">The form has changed since; this is about what it was.</p>}
            {answer && <Outcome answer={answer} />}
            {!busy && !answer && !problem && <p class="empty">Fill in the form, then try it.</p>}
          </div>
        </Panel>
      </div>
    </>
  );
}

const LABELS: Readonly<Record<(typeof TEXTS)[number], readonly [string, string]>> = {
  queue: ["Queue", "placement rules decide"],
  user: ["User", "nobody"],
  groups: ["Groups", "with commas between"],
  cpus: ["Cores of one allocation", "2, or 500m"],
  memory: ["Memory of one allocation", "8Gi"],
  more: ["More of one allocation", "nvidia.com/gpu=1"],
  copies: ["Allocations", "1"],
  priority: ["Priority", "0"],
  within: ["Look ahead, in seconds", "0: this moment only"],
};

interface FormProps {
  readonly fields: Fields;
  readonly busy: boolean;
  readonly fault: string | undefined;
  readonly onRun: () => void;
}

function Form({ fields, busy, fault, onRun }: FormProps) {
  const [tried, setTried] = useState(false);
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        onRun();
      }}
    >
      {TEXTS.map((key) => (
        <label key={key}>
          <span>{LABELS[key][0]}</span>
          <input
            value={fields.get(key) ?? ""}
            placeholder={LABELS[key][1]}
            maxLength={500}
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => setFilters({ [key]: event.currentTarget.value })}
          />
        </label>
      ))}
      <Tick name="gang" fields={fields}>All or nothing: a gang of so many members</Tick>
      <Tick name="preempt" fields={fields}>Others may be preempted for it</Tick>
      {tried && fault && <p class="problem" role="alert"><span aria-hidden="true">▲</span> {fault}</p>}
      <button type="submit" class="main" disabled={busy}>Try it</button>
    </form>
  );
}

function Tick({ name, fields, children }: { readonly name: string; readonly fields: Fields; readonly children: ComponentChildren }) {
  return (
    <label class="tick">
      <input
        type="checkbox"
        checked={fields.get(name) === "1"}
        onChange={(event) => setFilters({ [name]: event.currentTarget.checked ? "1" : "" })}
      />
      <span>{children}</span>
    </label>
  );
}

function Outcome({ answer }: { readonly answer: Answer }) {
  const queue = answer.queueName ?? "";
  const placed = answer.placed ?? [];
  const victims = answer.victims ?? [];
  return (
    <>
      <p class="outcome">
        <Badge state={answer.outcome} />
        {queue !== "" && <> in <a href={link("queues", [], { queue })}>{queue}</a></>}
      </p>
      <List title="Refused" rows={answer.refusals ?? []} row={(each) => <>{each.subject ? `${each.subject}: ` : ""}{each.reason} <small>{each.rule}</small></>} />
      <List title="Waits" rows={answer.waiting ?? []} row={(each) => <><b>{each.allocationKey}</b>: {count(each.pending)} for {each.gate || "a first try"}{each.subject ? ` (${each.subject})` : ""}</>} />
      <List title="Placed" rows={byNode(placed)} total={undefined} row={([node, number, after]) => (
        <><a href={link("node", [node])}>{node}</a>: {count(number)}{after > 0 ? `, the last after ${duration(after * 1_000)}` : ""}</>
      )} />
      {(answer.placedCount ?? 0) > placed.length && <p class="faint">{count((answer.placedCount ?? 0) - placed.length)} more are placed.</p>}
      <List title="Preempted" rows={victims} total={answer.victimsCount} row={(each) => (
        <>
          {each.allocationKey} of <a href={link("application", [each.applicationId])}>{each.applicationId}</a> in {each.queueName}, on{" "}
          <a href={link("node", [each.nodeId])}>{each.nodeId}</a>
        </>
      )} />
      {(answer.hidden ?? 0) > 0 && <p class="faint">{count(answer.hidden ?? 0)} effects on others are beyond your scope.</p>}
      <details><summary>In the words of the scheduler</summary><pre class="code">{answer.text.join("\n")}</pre></details>
    </>
  );
}

/** Return nodes with how many allocations each gets and when it got the last, the most first. */
export function byNode(placed: readonly Placed[]): (readonly [string, number, number])[] {
  const sums = new Map<string, readonly [number, number]>();
  for (const each of placed) {
    const [number, after] = sums.get(each.nodeId) ?? [0, 0];
    sums.set(each.nodeId, [number + 1, Math.max(after, each.after)]);
  }
  return [...sums].map(([node, [number, after]]) => [node, number, after] as const).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

interface ListProps<T> {
  readonly title: string;
  readonly rows: readonly T[];
  readonly total?: number | undefined;
  readonly row: (each: T) => ComponentChildren;
}

function List<T>({ title, rows, total, row }: ListProps<T>) {
  if (rows.length === 0) return null;
  const more = Math.max(total ?? 0, rows.length) - SHOWN;
  return (
    <>
      <h2>{title}</h2>
      <ul class="list">{rows.slice(0, SHOWN).map((each, index) => <li key={index}>{row(each)}</li>)}</ul>
      {more > 0 && <p class="faint">{count(more)} more.</p>}
    </>
  );
}
