// All applications of a partition in a table; filters and order stand in the address.

import { useMemo } from "preact/hooks";
import { useLive } from "../base/live";
import { usePartition, usePartitionApi } from "../base/partition";
import { MOST_ROWS } from "../base/paged_list";
import { link, setFilters, usePlace } from "../base/place";
import type { Application, Queue } from "../base/shapes";
import { ago, moment, useNow } from "../base/times";
import { amount, count, label, ordered } from "../base/units";
import { SHORT, useList } from "../base/use_list";
import { Badge } from "../parts/badge";
import { Panel } from "../parts/panel";
import type { Column, Order } from "../parts/table";
import { Table } from "../parts/table";
import { ApplicationFilters } from "./application_filters";
import { applicationSource, isLeaf, readOrder, sorted } from "./application_rows";

const BARS = 3;

export function ApplicationsPage() {
  const { query } = usePlace();
  const at = usePartitionApi();
  const partition = usePartition();
  const types = ordered(Object.keys(partition?.capacity.capacity ?? {})).slice(0, BARS);
  const named = query.get("queue") ?? "";
  const queues = useLive<Queue>(named === "" ? undefined : at(["queues"]), 30);
  // A caller who may see one queue only cannot ask for the tree.
  const leaf = named !== "" && (queues.problem?.status === 403 || isLeaf(queues.value, named));
  const source = applicationSource(query, leaf);
  const order = readOrder(query.get("order") ?? "");
  const search = query.get("search") ?? "";
  const whole = search !== "" || source.queue !== "" || query.has("order");
  const { list, version, onView } = useList<Application>(at(source.names), source.query, whole);
  const rows = useMemo(
    () => (list.all === undefined ? undefined : sorted(list.all, search, source.queue, order)),
    [list, version, search, source.queue, order.key, order.down],
  );
  const shown = rows?.length ?? Math.max(0, list.total);
  return (
    <>
      <h1 class="hidden">Applications</h1>
      <div class="filters">
        <ApplicationFilters />
        <span class="told" role="status">{told(list.total, shown, rows !== undefined, list.complete, list.all?.length ?? 0)}</span>
        {list.complete && list.total > SHORT && (
          <button type="button" onClick={() => void list.fetchAll()}>Load again</button>
        )}
      </div>
      <Panel title="Applications" class="fill" problem={list.problem}>
        <Table
          name="Applications"
          columns={applicationColumns(types)}
          rows={shown}
          row={(index) => (rows === undefined ? list.row(index) : rows[index])}
          rowKey={(row) => row.applicationID}
          order={rows === undefined ? undefined : order}
          onOrder={(next: Order) => setFilters({ order: `${next.down ? "-" : ""}${next.key}` })}
          onView={onView}
          empty={list.total < 0 ? "…" : "No application fits."}
        />
      </Panel>
    </>
  );
}

function told(total: number, shown: number, whole: boolean, complete: boolean, loaded: number): string {
  if (total < 0) return "";
  if (whole && !complete && total > SHORT) return `${count(loaded)} of ${count(total)} loaded…`;
  if (!whole) return `${count(total)} applications, by ID`;
  const cut = total > MOST_ROWS ? `; only the first ${count(MOST_ROWS)} were looked at` : "";
  return `${count(shown)} of ${count(total)} applications${cut}`;
}

function applicationColumns(types: readonly string[]): readonly Column<Application>[] {
  return [
    {
      key: "id", title: "Application", width: 160, grows: true, sorts: true,
      cell: (row) => <a href={link("application", [row.applicationID])} title={row.applicationID}>{row.applicationID}</a>,
    },
    { key: "state", title: "State", width: 110, sorts: true, cell: (row) => <Badge state={row.applicationState} /> },
    {
      key: "queue", title: "Queue", width: 160, grows: true, sorts: true,
      cell: (row) => <a href={link("queues", [], { queue: row.queueName })} title={row.queueName}>{row.queueName}</a>,
    },
    { key: "user", title: "User", width: 90, sorts: true, cell: (row) => <span title={row.user}>{row.user}</span> },
    ...types.map((type): Column<Application> => ({
      key: `used ${type}`, title: label(type), width: 86, right: true, sorts: true,
      cell: (row) => used(type, row.usedResource?.[type] ?? 0),
    })),
    ...types.slice(0, 2).map((type): Column<Application> => ({
      key: `waiting ${type}`, title: `${label(type)} waiting`, width: 138, right: true, sorts: true,
      cell: (row) => used(type, row.pendingResource?.[type] ?? 0),
    })),
    { key: "submitted", title: "Submitted", width: 120, right: true, sorts: true, cell: (row) => <Submitted at={row.submissionTime} /> },
  ];
}

function used(type: string, value: number) {
  return value === 0 ? <span class="faint">–</span> : amount(type, value);
}

function Submitted({ at }: { readonly at: number }) {
  const now = useNow();
  return <span title={moment(at)}>{ago(at, now)}</span>;
}
