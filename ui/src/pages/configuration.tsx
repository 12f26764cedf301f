// The configuration in force with its checksum, the placement rules, and what another configuration would change.

import { useEffect, useState } from "preact/hooks";
import { AskError, api, askText, withQuery } from "../base/client";
import { useCell } from "../base/cell";
import { useLive } from "../base/live";
import { usePartitionApi } from "../base/partition";
import { usePlace } from "../base/place";
import type { PlacementRule } from "../base/shapes";
import { token } from "../base/token";
import { Empty, Panel } from "../parts/panel";
import { Yaml } from "../parts/yaml";
import { Change } from "./configuration_change";

const NOTHING_WRONG: readonly number[] = [];

export function ConfigurationPage() {
  const { query } = usePlace();
  const at = usePartitionApi();
  const rules = useLive<PlacementRule[]>(at(["placementrules"]), 30);
  const rm = query.get("rm") ?? "";
  // Its text is asked for again when the checksum is another one.
  const about = useLive<{ readonly Checksum?: string }>(withQuery(api("config"), { rm }), 5);
  const checksum = about.value?.Checksum ?? "";
  const { text, problem } = useText(rm, about.value === undefined ? undefined : checksum);
  return (
    <>
      <h1 class="hidden">Configuration</h1>
      <div class="columns">
        <div class="stack">
          <Panel title="Configuration in force" problem={about.problem ?? problem}>
            {checksum !== "" && <p class="faint">checksum <span class="mono sum">{checksum}</span></p>}
            {text === "" && <Empty>No configuration was loaded.</Empty>}
            {text && <Yaml text={text} wrong={NOTHING_WRONG} />}
          </Panel>
          <Panel title="Placement rules" problem={rules.problem}>
            <ol class="list">
              {(rules.value ?? []).map((rule, index) => <li key={index}><Rule rule={rule} /></li>)}
            </ol>
          </Panel>
        </div>
        <div class="stack"><Change inForce={text} checksum={checksum} rm={rm} /></div>
      </div>
    </>
  );
}

/** Return the text in force. mark: what it belongs to; undefined: not known yet. */
function useText(rm: string, mark: string | undefined): { text: string | undefined; problem: AskError | undefined } {
  const [text, setText] = useState<string>();
  const [problem, setProblem] = useState<AskError>();
  const known = useCell(token);
  useEffect(() => {
    if (mark === undefined) return;
    const control = new AbortController();
    setProblem(undefined);
    askText(withQuery(api("config"), { raw: "true", rm }), { accept: "application/x-yaml", signal: control.signal })
      .then(setText)
      .catch((error: AskError) => control.signal.aborted || setProblem(error));
    return () => control.abort();
  }, [rm, known, mark]);
  return { text, problem };
}

function Rule({ rule }: { readonly rule: PlacementRule }) {
  const words = Object.entries(rule.parameters ?? {}).map(([key, value]) => `${key} ${value}`);
  return (
    <>
      <b>{rule.name}</b> {words.join(", ")}
      {rule.filter && <span class="faint"> for {JSON.stringify(rule.filter)}</span>}
      {rule.parentRule && <> below <Rule rule={rule.parentRule} /></>}
    </>
  );
}
