// The state of a partition at a glance: use, what runs and waits, what needs attention, what changed.

import { useContext } from "preact/hooks";
import { useLive } from "../base/live";
import { Partitions, usePartition, usePartitionApi } from "../base/partition";
import { link } from "../base/place";
import { useRecent } from "../base/recent";
import type { Partition, Queue } from "../base/shapes";
import { label, ordered, part, percent } from "../base/units";
import { LineChart } from "../parts/line_chart";
import { Meter, MeterKey } from "../parts/meter";
import { Empty, Panel } from "../parts/panel";
import { Attention } from "./overview_attention";
import { RecentEvents } from "./overview_events";
import { Summary } from "./overview_summary";

export function OverviewPage() {
  const at = usePartitionApi();
  const partitions = useContext(Partitions);
  const partition = usePartition();
  const queues = useLive<Queue>(partitions.value !== undefined && partition ? at(["queues"]) : undefined);
  if (partitions.value !== undefined && partition === undefined) return <NoPartition all={partitions.value} />;
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <Summary partition={partition} root={queues.value} problem={partitions.problem} />
      <div class="columns">
        <div class="stack">
          <UseOverTime partition={partition} root={queues.value} />
          <Attention root={queues.value} />
        </div>
        <div class="stack">
          <TopQueues root={queues.value} problem={queues.problem} />
          <RecentEvents />
        </div>
      </div>
    </>
  );
}

function NoPartition({ all }: { readonly all: readonly Partition[] }) {
  return (
    <Panel title="Overview">
      <Empty>
        {all.length === 0
          ? "No resource manager has registered yet. Its partitions will be shown here."
          : "There is no such partition. Choose another one above."}
      </Empty>
    </Panel>
  );
}

interface UseProps {
  readonly partition: Partition | undefined;
  readonly root: Queue | undefined;
}

function UseOverTime({ partition, root }: UseProps) {
  const capacity = partition?.capacity.capacity ?? {};
  const used = partition?.capacity.usedCapacity ?? {};
  const types = ordered(Object.keys(capacity));
  const shares = Object.fromEntries(types.map((type) => [type, part(used[type] ?? 0, capacity[type] ?? 0)]));
  const key = `use ${partition?.clusterId}/${partition?.name}`;
  const recent = useRecent(key, partition && shares, partition);
  const lines = ordered(recent.names()).map((name, index) => ({
    name: label(name), colour: (index % 6) + 1, values: recent.values(name),
  }));
  return (
    <Panel title="Use of the partition" aside="since this page was opened, 30 minutes at most">
      {types.map((type) => (
        <div class="use" key={type}>
          <span class="name">{label(type)}</span>
          <Meter
            type={type}
            used={used[type] ?? 0}
            pending={root?.pendingResource?.[type]}
            whole={capacity[type] ?? 0}
            wide="whole"
          />
        </div>
      ))}
      {types.length === 0 && <Empty>The partition has no nodes yet.</Empty>}
      {lines.length > 0 && <LineChart title="Use" times={recent.times} lines={lines} format={percent} top={1} />}
    </Panel>
  );
}

interface TopProps {
  readonly root: Queue | undefined;
  readonly problem: Parameters<typeof Panel>[0]["problem"];
}

function TopQueues({ root, problem }: TopProps) {
  const whole = root?.maxResource ?? {};
  const types = ordered(Object.keys(whole)).slice(0, 3);
  const found = root?.children ?? [];
  return (
    <Panel title="Queues below root" aside={<a href={link("queues")}>all queues</a>} problem={problem}>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Queue</th>
            {types.map((type) => <th scope="col" key={type}>{label(type)}</th>)}
          </tr>
        </thead>
        <tbody>
          {found.slice(0, 12).map((queue) => (
            <tr key={queue.queuename}>
              <td class="name">
                <a href={link("queues", [], { queue: queue.queuename })}>{queue.queuename.slice(5)}</a>
              </td>
              {types.map((type) => (
                <td key={type}>
                  <Meter
                    type={type}
                    used={queue.allocatedResource?.[type] ?? 0}
                    pending={queue.pendingResource?.[type]}
                    guaranteed={queue.guaranteedResource?.[type]}
                    maximum={queue.maxResource?.[type]}
                    whole={whole[type] ?? 0}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {found.length > 12 && <p class="faint">{found.length - 12} more queues are not shown here.</p>}
      <MeterKey />
    </Panel>
  );
}
