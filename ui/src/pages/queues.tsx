// The tree of queues with what each uses, and one queue in detail beside it.

import { useMemo } from "preact/hooks";
import { useLive } from "../base/live";
import { usePartitionApi } from "../base/partition";
import { link, setFilters, usePlace } from "../base/place";
import type { Queue } from "../base/shapes";
import { count, label, ordered } from "../base/units";
import { Badge } from "../parts/badge";
import { Choice, Search } from "../parts/choice";
import { Meter, MeterKey } from "../parts/meter";
import { Panel } from "../parts/panel";
import type { Column } from "../parts/table";
import { Table } from "../parts/table";
import type { QueueRow } from "./queue_rows";
import { queueRows, toggled } from "./queue_rows";
import { QueueDetail } from "./queue_detail";

/** Resource types with a bar in the table, and beside the detail of a queue, which has all. */
const BARS = 3;
const BARS_BESIDE = 2;

export function QueuesPage() {
  const { query } = usePlace();
  const at = usePartitionApi();
  const queues = useLive<Queue>(at(["queues"]));
  const root = queues.value;
  const search = query.get("search") ?? "";
  const closed = query.get("closed") ?? "";
  const named = query.get("queue") ?? "";
  const scale = query.get("scale") ?? "partition";
  const rows = useMemo(() => queueRows(root, search, closed), [root, search, closed]);
  const all = useMemo(() => queueRows(root, "", ""), [root]);
  const types = ordered(Object.keys(root?.maxResource ?? root?.allocatedResource ?? {})).slice(0, named === "" ? BARS : BARS_BESIDE);
  const chosen = all.find((row) => row.queue.queuename === named)?.queue;
  const columns = queueColumns(types, root, scale, closed);
  return (
    <>
      <h1 class="hidden">Queues</h1>
      <div class="filters">
        <Search name="Search" value={search} onSearch={(value) => setFilters({ search: value })} />
        <Choice
          name="Bars show parts of"
          value={scale}
          options={[["partition", "the partition"], ["own", "the queue's own maximum"]]}
          onChoice={(value) => setFilters({ scale: value === "partition" ? "" : value })}
        />
        <button type="button" onClick={() => setFilters({ closed: "" })} disabled={closed === ""}>Open all</button>
        <span class="told" role="status">
          {count(rows.length)} of {count(all.length)} queues
        </span>
      </div>
      <div class={named === "" ? "columns side alone" : "columns side"}>
        <Panel title="Queues" class="fill" aside={<MeterKey />} problem={queues.problem}>
          <Table
            name="Queues"
            columns={columns}
            rows={rows.length}
            row={(index) => rows[index]}
            rowKey={(row) => row.queue.queuename}
            marked={(row) => row.queue.queuename === named}
            empty={root === undefined ? "…" : "No queue has this in its name."}
          />
        </Panel>
        {named !== "" && (
          <aside class="panel" aria-label="Queue in detail">
            <QueueDetail queue={chosen} name={named} known={root !== undefined} />
          </aside>
        )}
      </div>
    </>
  );
}

function queueColumns(
  types: readonly string[],
  root: Queue | undefined,
  scale: string,
  closed: string,
): readonly Column<QueueRow>[] {
  const whole = root?.maxResource ?? {};
  const name: Column<QueueRow> = {
    key: "name", title: "Queue", width: 220, grows: true,
    cell: (row) => <QueueName row={row} closed={closed} />,
  };
  const bars = types.map((type): Column<QueueRow> => ({
    key: type, title: label(type), width: 190,
    cell: ({ queue }) => (
      <Meter
        type={type}
        used={queue.allocatedResource?.[type] ?? 0}
        pending={queue.pendingResource?.[type]}
        guaranteed={queue.guaranteedResource?.[type]}
        maximum={queue.maxResource?.[type]}
        whole={(scale === "own" ? queue.maxResource?.[type] : undefined) ?? whole[type] ?? 0}
        wide="used"
      />
    ),
  }));
  return [
    name,
    ...bars,
    { key: "apps", title: "Running", width: 80, right: true, cell: ({ queue }) => running(queue) },
    { key: "state", title: "State", width: 90, cell: ({ queue }) => <Badge state={queue.status} /> },
  ];
}

function running(queue: Queue): string {
  const most = queue.maxRunningApps ? ` / ${count(queue.maxRunningApps)}` : "";
  return `${count(queue.runningApps ?? 0)}${most}`;
}

function QueueName({ row, closed }: { readonly row: QueueRow; readonly closed: string }) {
  const { queue, depth } = row;
  const open = !row.closed;
  const choose = (event: Event): void => {
    event.preventDefault();
    setFilters({ queue: queue.queuename });
  };
  return (
    <span class="branch" style={{ paddingLeft: `${depth * 16}px` }}>
      {row.children > 0 ? (
        <button
          type="button"
          class="twist"
          aria-expanded={open}
          aria-label={`${open ? "Close" : "Open"} ${queue.queuename}`}
          onClick={() => setFilters({ closed: toggled(closed, queue.queuename) })}
        >
          {open ? "▾" : "▸"}
        </button>
      ) : (
        <span class="twist" />
      )}
      <a href={link("queues", [], { queue: queue.queuename })} onClick={choose} title={queue.queuename}>
        {row.label}
      </a>
      {row.closed && <small> {count(row.children)} below</small>}
    </span>
  );
}
