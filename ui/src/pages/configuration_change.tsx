// Another configuration: its faults at their lines, the lines that differ, and what it would change.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { AskError, api, answered, withQuery } from "../base/client";
import { difference } from "../base/line_diff";
import { count } from "../base/units";
import { Difference } from "../parts/difference";
import { Panel } from "../parts/panel";
import { Yaml } from "../parts/yaml";
import type { Fault, Impact as Differences, Section } from "./configuration_faults";
import { faultsOf, sectionsOf } from "./configuration_faults";

interface Tried {
  readonly text: string;
  /** The text in force when it was tried. */
  readonly before: string;
  readonly checksum: string;
  readonly faults: readonly Fault[];
  /** undefined: it is not known. */
  readonly impact: readonly Section[] | undefined;
  readonly problem: AskError | undefined;
}

interface ChangeProps {
  readonly inForce: string | undefined;
  readonly checksum: string;
  readonly rm: string;
}

/** Entries of each kind that are shown, at first and when they are opened. */
const SHOWN = 8;
const MOST = 1_000;

export function Change({ inForce, checksum, rm }: ChangeProps) {
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [tried, setTried] = useState<Tried>();
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const attempt = async (): Promise<void> => {
    const control = (running.current = new AbortController());
    setBusy(true);
    const found = await judged(typed, rm, control.signal);
    if (control.signal.aborted) return;
    setTried({ text: typed, before: inForce ?? "", checksum, ...found });
    setBusy(false);
  };
  return (
    <>
      <Panel title="Another configuration" aside="nothing is changed by this page">
        <label class="hidden" for="change-text">Another configuration</label>
        <textarea
          id="change-text"
          rows={16}
          spellcheck={false}
          value={typed}
          placeholder="partitions: …"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <div class="filters">
          <button type="button" class="main" disabled={typed === "" || busy} onClick={() => void attempt()}>
            {busy ? "It is tried…" : "See what it would change"}
          </button>
          <button type="button" disabled={!inForce} onClick={() => setTyped(inForce ?? "")}>Begin with the one in force</button>
          <button type="button" disabled={typed === ""} onClick={() => save(typed)}>Save as a file</button>
        </div>
      </Panel>
      <div role="status" class="stack">
        {tried && tried.text !== typed && <p class="faint">The text has changed since it was tried.</p>}
        {tried && tried.checksum !== checksum && (
          <p class="problem"><span aria-hidden="true">▲</span> Another configuration is in force now: try it again.</p>
        )}
        {tried && <Result tried={tried} />}
      </div>
    </>
  );
}

/** Ask what a configuration would change; where that is refused to the caller, whether it is right. */
async function judged(text: string, rm: string, signal: AbortSignal): Promise<Pick<Tried, "faults" | "impact" | "problem">> {
  const post = async (path: string): Promise<unknown> => (await answered(path, { method: "POST", body: text, signal })).json();
  try {
    const answer = (await post(withQuery(api("config", "impact"), { rm }))) as { impact: Differences };
    return { faults: [], impact: sectionsOf(answer.impact), problem: undefined };
  } catch (error) {
    const problem = error instanceof AskError ? error : new AskError(0, String(error));
    if (problem.status === 400) return { faults: faultsOf(problem.message), impact: undefined, problem: undefined };
    try {
      const verdict = (await post(api("validate-conf"))) as { allowed: boolean; reason?: string };
      return { faults: verdict.allowed ? [] : faultsOf(verdict.reason ?? "It would be refused."), impact: undefined, problem };
    } catch {
      return { faults: [], impact: undefined, problem };
    }
  }
}

function Result({ tried }: { readonly tried: Tried }) {
  const lines = useMemo(() => difference(tried.before, tried.text), [tried]);
  if (tried.faults.length > 0) {
    return (
      <Panel title="It would be refused">
        <ul class="list">
          {tried.faults.map((each, index) => (
            <li key={index}><span class="badge bad"><span aria-hidden="true">▲</span> {each.line > 0 ? `line ${each.line}` : ""}</span> {each.words}</li>
          ))}
        </ul>
        <Yaml text={tried.text} wrong={tried.faults.map((each) => each.line)} />
      </Panel>
    );
  }
  return (
    <>
      <Panel title="What it would change">
        {tried.problem && <p class="problem"><span aria-hidden="true">▲</span> What it would change is not known: {tried.problem.message}</p>}
        {tried.impact && <Impact sections={tried.impact} />}
      </Panel>
      <Panel title="Lines that differ from the one in force">
        {lines.length === 0 ? <p class="empty">No line differs.</p> : <Difference lines={lines} />}
      </Panel>
      {tried.impact && lines.length > 0 && <PutInForce checksum={tried.checksum} />}
    </>
  );
}

function Impact({ sections }: { readonly sections: readonly Section[] }) {
  if (sections.length === 0) {
    return <p class="badge good"><span aria-hidden="true">●</span> It would be accepted, and nothing that runs or waits would be affected within a minute.</p>;
  }
  return (
    <>
      <p class="badge worn"><span aria-hidden="true">◐</span> It would be accepted, and this would be affected within a minute:</p>
      {sections.map((section) => (
        <div key={section.title}>
          <h2>{section.title}: {count(section.entries.length)}</h2>
          <Entries entries={section.entries.slice(0, SHOWN)} />
          {section.entries.length > SHOWN && (
            <details>
              <summary>{count(Math.min(section.entries.length, MOST) - SHOWN)} more</summary>
              <Entries entries={section.entries.slice(SHOWN, MOST)} />
            </details>
          )}
        </div>
      ))}
    </>
  );
}

function Entries({ entries }: { readonly entries: readonly string[] }) {
  return <ul class="list">{entries.map((each, index) => <li key={index}>{each}</li>)}</ul>;
}

/** The HTTP API changes nothing (ADR 30), so an administrator does it from the command line. */
function PutInForce({ checksum }: { readonly checksum: string }) {
  return (
    <Panel title="Put it in force" aside="for administrators">
      <p>Save it as a file, and run this. It shows the same lines and asks before it changes anything:</p>
      <pre class="code">remuda config apply new.yaml</pre>
      {checksum !== "" && <p class="faint">Compared with the configuration whose checksum is <span class="mono">{checksum}</span>.</p>}
    </Panel>
  );
}

/** Offer a text as a file. */
function save(text: string): void {
  const source = URL.createObjectURL(new Blob([text], { type: "application/x-yaml" }));
  const anchor = document.createElement("a");
  anchor.href = source;
  anchor.download = "new.yaml";
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(source), 1_000);
}
