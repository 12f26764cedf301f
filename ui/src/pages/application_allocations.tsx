// What an application holds, and on which nodes.

import { setFilters, link, usePlace } from "../base/place";
import type { Allocation, Application } from "../base/shapes";
import { ago, duration, moment, useNow } from "../base/times";
import { amounts, count } from "../base/units";
import { Choice } from "../parts/choice";
import { Empty, Panel } from "../parts/panel";
import type { Column } from "../parts/table";
import { Table } from "../parts/table";

export function ApplicationAllocations({ application }: { readonly application: Application }) {
  const { query } = usePlace();
  const all = application.allocations ?? [];
  const groups = [...new Set(all.map((each) => each.taskGroupName ?? ""))].filter((each) => each !== "");
  const group = query.get("group") ?? "";
  const rows = group === "" ? all : all.filter((each) => each.taskGroupName === group);
  const aside = groups.length > 0 && (
    <Choice
      name="Task group"
      value={group}
      options={[["", "all"], ...groups.map((each) => [each, each] as const)]}
      onChoice={(value) => setFilters({ group: value })}
    />
  );
  return (
    <Panel title={`Allocations: ${count(rows.length)}`} class="bounded" aside={aside || undefined}>
      {rows.length === 0 ? (
        <Empty>It holds nothing.</Empty>
      ) : (
        <Table
          name="Allocations"
          columns={COLUMNS}
          rows={rows.length}
          row={(index) => rows[index]}
          rowKey={(row) => row.allocationID ?? row.allocationKey}
        />
      )}
    </Panel>
  );
}

const COLUMNS: readonly Column<Allocation>[] = [
  { key: "key", title: "Allocation", width: 200, grows: true, cell: (row) => <span title={row.allocationKey}>{row.allocationID ?? row.allocationKey}</span> },
  { key: "node", title: "Node", width: 140, grows: true, cell: (row) => <a href={link("node", [row.nodeId ?? ""])}>{row.nodeId}</a> },
  { key: "resource", title: "Resource", width: 220, grows: true, cell: (row) => amounts(row.resource) },
  { key: "priority", title: "Priority", width: 70, right: true, cell: (row) => row.priority ?? "0" },
  { key: "marks", title: "Kind", width: 190, cell: marks },
  { key: "waited", title: "Waited", width: 90, right: true, cell: waited },
  { key: "since", title: "Since", width: 120, right: true, cell: (row) => <Since at={row.allocationTime} /> },
];

function marks(row: Allocation): string {
  const found: string[] = [];
  if (row.taskGroupName) found.push(row.taskGroupName);
  if (row.placeholder) found.push("placeholder");
  if (row.placeholderUsed) found.push("replaced a placeholder");
  if (row.originator) found.push("originator");
  if (row.preempted) found.push("is preempted");
  return found.join(", ");
}

function waited(row: Allocation): string {
  if (!row.requestTime || !row.allocationTime) return "–";
  return duration((row.allocationTime - row.requestTime) / 1e6);
}

function Since({ at }: { readonly at: number | undefined }) {
  const now = useNow();
  return <span title={moment(at)}>{ago(at, now)}</span>;
}
