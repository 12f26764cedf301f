// What an operator should look at: checks that failed, queues that are owed something, stopped queues.

import { api } from "../base/client";
import type { Live } from "../base/live";
import { useLive } from "../base/live";
import { usePartitionApi } from "../base/partition";
import { link } from "../base/place";
import type { FairShare, Health, Queue } from "../base/shapes";
import { lasted, useNow } from "../base/times";
import { amounts, positive } from "../base/units";
import { isOwed } from "./fair_share";
import { Badge } from "../parts/badge";
import { Empty, Panel } from "../parts/panel";

const MOST = 8;

export function Attention({ root }: { readonly root: Queue | undefined }) {
  const at = usePartitionApi();
  const health = useLive<Health>(api("scheduler", "healthcheck"), 5);
  const shares = useLive<FairShare[]>(root ? at(["fairshare"]) : undefined, 10);
  const now = useNow();
  const failed = health.value?.HealthChecks.filter((each) => !each.Succeeded) ?? [];
  const owed = (shares.value ?? []).filter(isOwed);
  const stopped = flat(root).filter((each) => each.status !== "Active");
  const found = failed.length + owed.length + stopped.length;
  const unknown = notKnown(health, shares, root);
  return (
    <Panel title="Needs attention" problem={shares.problem}>
      {found === 0 && unknown.length === 0 && (
        <Empty>Nothing: all checks succeeded, and no queue waits for its guarantee.</Empty>
      )}
      {unknown.length > 0 && <Empty>Not known: {unknown.join(", ")}.</Empty>}
      <ul class="list">
        {failed.map((each, index) => (
          <li key={`check ${index}`}>
            <a href={link("health")}>{each.Name}</a> <Badge state="failed" />
            <span class="faint"> {each.DiagnosisMessage}</span>
          </li>
        ))}
        {owed.slice(0, MOST).map((each) => (
          <li key={each.queueName}>
            <a href={link("fairshare", [], { queue: each.queueName })}>{each.queueName}</a> waits for its
            guarantee: {amounts(positive(each.owed))}
            <span class="faint"> for {lasted(each.belowSince, now)}</span>
          </li>
        ))}
        {stopped.slice(0, MOST).map((each) => (
          <li key={`stopped ${each.queuename}`}>
            <a href={link("queues", [], { queue: each.queuename })}>{each.queuename}</a> <Badge state={each.status} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Return what nobody may take for right, because there is no answer to it. */
function notKnown(health: Live<Health>, shares: Live<FairShare[]>, root: Queue | undefined): string[] {
  const found: string[] = [];
  if (health.value === undefined) found.push(health.problem?.status === 404 ? "no check has run yet" : "the health checks");
  if (root === undefined) found.push("the queues");
  else if (shares.value === undefined) found.push("the guarantees of queues");
  return found;
}

function flat(queue: Queue | undefined): Queue[] {
  if (queue === undefined) return [];
  return [queue, ...(queue.children ?? []).flatMap(flat)];
}
