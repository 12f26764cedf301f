// One queue: amounts of all resource types, how it sorts and preempts, its limits and users.

import { useLive } from "../base/live";
import { usePartitionApi } from "../base/partition";
import { link, setFilters } from "../base/place";
import type { FairShareHistory, Queue } from "../base/shapes";
import { milliseconds } from "../base/times";
import { amount, count, label, ordered, percent } from "../base/units";
import { Badge } from "../parts/badge";
import { LineChart } from "../parts/line_chart";
import { Empty, Facts } from "../parts/panel";
import { QueueUsers } from "./queue_users";

/** What the service says of a queue in which nothing waits. */
const NO_PRIORITY = -2147483648;

interface DetailProps {
  readonly queue: Queue | undefined;
  readonly name: string;
  readonly known: boolean;
}

export function QueueDetail({ queue, name, known }: DetailProps) {
  return (
    <>
      <div class="head">
        <h1>{name}</h1>
        <button type="button" onClick={() => setFilters({ queue: "" })}>Close</button>
      </div>
      {queue === undefined ? (
        <Empty>{known ? "There is no such queue any more." : "…"}</Empty>
      ) : (
        <>
          <p><Badge state={queue.status} /> {queue.isManaged ? "" : "made by placement, "}{queue.isLeaf ? "leaf" : "parent"}</p>
          {queue.isLeaf && (
            <p>
              <a href={link("applications", [], { queue: queue.queuename })}>Applications of this queue</a>{" · "}
              <a href={link("dryrun", [], { queue: queue.queuename })}>What if something came now?</a>
            </p>
          )}
          <AmountsTable queue={queue} />
          <h2>Settings</h2>
          <Facts facts={settings(queue)} />
          <Properties title="Properties" values={queue.properties} />
          <Properties title="Properties of queues that placement makes below" values={queue.template?.properties} />
          <ShareHistory name={name} />
          <QueueUsers name={name} />
        </>
      )}
    </>
  );
}

function AmountsTable({ queue }: { readonly queue: Queue }) {
  const columns = [
    ["Used", queue.allocatedResource], ["Waiting", queue.pendingResource], ["Guaranteed", queue.guaranteedResource],
    ["Maximum", queue.maxResource], ["Headroom", queue.headroom],
  ] as const;
  const types = ordered(columns.flatMap(([, values]) => Object.keys(values ?? {})));
  return (
    <table class="plain narrow">
      <thead>
        <tr>
          <th scope="col">Amounts</th>
          {types.map((type) => <th scope="col" class="right" key={type} title={type}>{label(type)}</th>)}
        </tr>
      </thead>
      <tbody>
        {columns.map(([title, values]) => (
          <tr key={title}>
            <th scope="row">{title}</th>
            {types.map((type) => (
              <td class="right" key={type}>{values?.[type] === undefined ? "–" : amount(type, values[type])}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function settings(queue: Queue): (readonly [string, string])[] {
  const waits = queue.currentPriority !== NO_PRIORITY;
  const applications = count(queue.runningApps ?? 0) + (queue.maxRunningApps ? ` of ${count(queue.maxRunningApps)}` : "");
  return [
    ["Running", applications],
    ["Order", queue.sortingPolicy || "–"],
    ["Priorities sort", queue.prioritySorting ? "yes" : "no"],
    ["Highest waiting", waits ? String(queue.currentPriority) : "nothing waits"],
    ["Priority offset", String(queue.priorityOffset ?? 0)],
    ["Priority fence", queue.isPriorityFence ? "yes" : "no"],
    ["Preemption", queue.preemptionEnabled ? `after ${queue.preemptionDelay || "0s"}` : "off"],
    ["Preemption fence", queue.isPreemptionFence ? "yes" : "no"],
  ];
}

interface PropertiesProps {
  readonly title: string;
  readonly values: Readonly<Record<string, string>> | undefined;
}

function Properties({ title, values }: PropertiesProps) {
  const found = Object.entries(values ?? {});
  if (found.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <Facts facts={found} />
    </>
  );
}

function ShareHistory({ name }: { readonly name: string }) {
  const at = usePartitionApi();
  const history = useLive<FairShareHistory>(at(["queue", name, "fairshare"]), 10);
  const samples = history.value?.samples ?? [];
  if (samples.length < 2) return null;
  const lines = [
    { name: "share", colour: 1, values: samples.map((each) => each.share) },
    { name: "owed of its guarantee", colour: 2, values: samples.map((each) => each.owed) },
  ];
  return (
    <>
      <h2>Share, last hour</h2>
      <LineChart
        title={`Share of ${name}`}
        times={samples.map((each) => milliseconds(each.timestamp))}
        lines={lines}
        format={percent}
      />
    </>
  );
}
