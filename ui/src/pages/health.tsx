// The health checks, and figures about the inside of the scheduler from its metrics.

import { useEffect, useState } from "preact/hooks";
import { AskError, api, askText } from "../base/client";
import { useCell } from "../base/cell";
import { useLive } from "../base/live";
import type { Cluster, Health } from "../base/shapes";
import { refreshSeconds } from "../base/settings";
import { moment } from "../base/times";
import { token } from "../base/token";
import { Empty, Facts, Panel } from "../parts/panel";
import { internals, readMetrics } from "./metrics";

const LEAST_SECONDS = 5;

export function HealthPage() {
  const health = useLive<Health>(api("scheduler", "healthcheck"));
  const clusters = useLive<Cluster[]>(api("clusters"), 30);
  const none = health.problem?.status === 404;
  return (
    <>
      <h1 class="hidden">Health</h1>
      <div class="columns">
        <Panel title="Health checks" problem={none ? undefined : health.problem}>
          {none && <Empty>No check has run yet. The first one runs within half a minute.</Empty>}
          <ul class="list checks">
            {(health.value?.HealthChecks ?? []).map((each, index) => (
              <li key={index}>
                <span class={each.Succeeded ? "badge good" : "badge bad"}>
                  <span aria-hidden="true">{each.Succeeded ? "✓" : "✗"}</span> {each.Name}
                </span>
                <span class="hidden">{each.Succeeded ? "succeeded" : "failed"}</span>
                <p class="faint">{each.Description}</p>
                <p>{each.DiagnosisMessage}</p>
              </li>
            ))}
          </ul>
        </Panel>
        <div class="stack">
          <Internals />
          <Panel title="Resource managers" problem={clusters.problem}>
            {clusters.value?.length === 0 && <Empty>None has registered.</Empty>}
            {(clusters.value ?? []).map((each) => (
              <Facts
                key={`${each.partition} ${each.rmBuildInformation[0]?.["rmId"]}`}
                facts={[
                  ["Partition", each.partition],
                  ["Cluster", each.clusterName],
                  ["Scheduler began", moment(each.startTime)],
                  ...each.rmBuildInformation.flatMap((build) => Object.entries(build)),
                ]}
              />
            ))}
          </Panel>
        </div>
      </div>
    </>
  );
}

function Internals() {
  const seconds = useCell(refreshSeconds);
  const known = useCell(token);
  const [facts, setFacts] = useState<(readonly [string, string])[]>();
  const [problem, setProblem] = useState<AskError>();
  useEffect(() => {
    const control = new AbortController();
    let timer = 0;
    const look = async (): Promise<void> => {
      try {
        const text = await askText(api("metrics"), { signal: control.signal });
        setFacts(internals(readMetrics(text), Date.now()));
        setProblem(undefined);
      } catch (error) {
        if (!control.signal.aborted) setProblem(error instanceof AskError ? error : new AskError(0, String(error)));
      }
      if (seconds > 0 && !control.signal.aborted) {
        timer = window.setTimeout(() => void look(), Math.max(LEAST_SECONDS, seconds) * 1_000);
      }
    };
    void look();
    return () => {
      control.abort();
      clearTimeout(timer);
    };
  }, [seconds, known]);
  return (
    <Panel title="Inside the scheduler" aside={<a href={api("metrics")}>all metrics</a>} problem={problem}>
      {facts?.length === 0 && <Empty>No figures yet.</Empty>}
      {facts && <Facts facts={facts} />}
    </Panel>
  );
}
