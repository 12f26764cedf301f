// The first line of the overview: a few figures, each a way to the page behind it.

import type { ComponentChildren } from "preact";
import type { AskError } from "../base/client";
import { api } from "../base/client";
import { useLive } from "../base/live";
import { link } from "../base/place";
import type { Cluster, Health, Partition, Queue } from "../base/shapes";
import { lasted, useNow } from "../base/times";
import { amounts, count, positive } from "../base/units";
import { Badge } from "../parts/badge";
import { Problem } from "../parts/panel";

interface SummaryProps {
  readonly partition: Partition | undefined;
  readonly root: Queue | undefined;
  readonly problem: AskError | undefined;
}

/** States of applications that wait for their first allocation. */
const WAITING = ["New", "Accepted"];
const ENDED = ["Completed", "Failed", "Rejected", "Expired"];

/** Return how many applications run, wait and have ended. */
export function applicationCounts(states: Readonly<Record<string, number>>): readonly [number, number, number] {
  const of = (names: readonly string[]): number => names.reduce((sum, name) => sum + (states[name] ?? 0), 0);
  const waiting = of(WAITING);
  const ended = of(ENDED);
  return [(states["total"] ?? 0) - waiting - ended, waiting, ended];
}

export function Summary({ partition, root, problem }: SummaryProps) {
  const clusters = useLive<Cluster[]>(api("clusters"), 30);
  const health = useLive<Health>(api("scheduler", "healthcheck"), 5);
  const now = useNow();
  const [running, waiting, ended] = applicationCounts(partition?.applications ?? {});
  const cluster = clusters.value?.find(
    (each) => each.partition === partition?.name && each.rmBuildInformation.some((build) => build["rmId"] === partition.clusterId),
  );
  const failed = health.value?.HealthChecks.filter((each) => !each.Succeeded).length ?? 0;
  const pending = amounts(positive(root?.pendingResource), "nothing");
  return (
    <section class="summary" aria-label="Summary">
      <Problem problem={problem} />
      <Figure title="Partition" note={cluster ? `${cluster.clusterName}, up ${lasted(cluster.startTime, now)}` : ""}>
        {partition ? <>{partition.name} <Badge state={partition.state} /></> : "…"}
      </Figure>
      <Figure title="Applications" to={link("applications")} note={`${count(waiting)} wait to start, ${count(ended)} ended`}>
        {count(running)} <small>active</small>
      </Figure>
      <Figure title="Allocations" note={`${pending} waiting`}>{count(partition?.totalContainers ?? 0)}</Figure>
      <Figure title="Nodes" to={link("nodes")} note={`${partition?.nodeSortingPolicy?.type ?? ""} order`}>
        {count(partition?.totalNodes ?? 0)}
      </Figure>
      <Figure title="Health" to={link("health")} note={health.problem?.status === 404 ? "no check yet" : `${health.value?.HealthChecks.length ?? 0} checks`}>
        <HealthWord health={health.value} failed={failed} />
      </Figure>
    </section>
  );
}

function HealthWord({ health, failed }: { readonly health: Health | undefined; readonly failed: number }) {
  if (health === undefined) return <>…</>;
  if (health.Healthy) return <span class="badge good"><span aria-hidden="true">●</span> healthy</span>;
  return <span class="badge bad"><span aria-hidden="true">▲</span> {failed} failed</span>;
}

interface FigureProps {
  readonly title: string;
  readonly note: string;
  readonly to?: string;
  readonly children: ComponentChildren;
}

function Figure({ title, note, to, children }: FigureProps) {
  return (
    <div class="figure">
      <h2>{to ? <a href={to}>{title}</a> : title}</h2>
      <p class="value">{children}</p>
      <p class="faint" title={note}>{note || "\u00a0"}</p>
    </div>
  );
}
