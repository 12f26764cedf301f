// One node: what it has, who uses it, what it is reserved for.

import { useLive } from "../base/live";
import { usePartitionApi } from "../base/partition";
import { link, usePlace } from "../base/place";
import type { Allocation, Node } from "../base/shapes";
import { ago, moment, useNow } from "../base/times";
import { amount, amounts, count, label, ordered } from "../base/units";
import { Badge } from "../parts/badge";
import { Empty, Facts, Panel, Problem } from "../parts/panel";
import { StackedBar } from "../parts/stacked_bar";
import type { Column } from "../parts/table";
import { Table } from "../parts/table";
import { nodeState } from "./node_rows";

export function NodePage() {
  const { names } = usePlace();
  const id = names[0] ?? "";
  const at = usePartitionApi();
  const found = useLive<Node>(at(["node", id]));
  const node = found.value;
  return (
    <>
      <div class="head">
        <h1>{id}</h1>
        {node && <Badge state={nodeState(node)} />}
      </div>
      <Problem problem={found.problem} />
      {node && (
        <>
          <Panel title="Node">
            <Facts facts={facts(node)} />
          </Panel>
          <Panel title="Use by application">
            <NodeUse node={node} />
          </Panel>
          <NodeAllocations node={node} />
        </>
      )}
    </>
  );
}

function facts(node: Node): (readonly [string, string])[] {
  const own = Object.entries(node.attributes ?? {}).filter(([key]) => !key.startsWith("si/"));
  const found: (readonly [string, string])[] = [
    ["Host", node.hostName ?? "–"],
    ["Rack", node.rackName ?? "–"],
    ["Capacity", amounts(node.capacity)],
    ["Available", amounts(node.available)],
    ["Occupied by others", amounts(node.occupied)],
    ["Ready", node.ready === false ? "no" : "yes"],
    ["Takes new work", takesWork(node)],
    ["Reserved for", (node.reservations ?? []).join(", ") || "nothing"],
  ];
  return [...found, ...own];
}

function takesWork(node: Node): string {
  if (node.schedulable !== false) return "yes";
  return node.drainedByOperator ? "no, an operator drains it" : "no, its resource manager drains it";
}

function NodeUse({ node }: { readonly node: Node }) {
  const types = ordered(Object.keys(node.capacity ?? {}));
  return (
    <>
      {types.map((type) => (
        <div class="use" key={type}>
          <span class="name">{label(type)}</span>
          <StackedBar
            name={label(type)}
            whole={node.capacity?.[type] ?? 0}
            pieces={byApplication(node, type)}
            format={(value) => amount(type, value)}
          />
        </div>
      ))}
    </>
  );
}

/** Return what each application has of a resource type on a node, the largest first. */
export function byApplication(node: Node, type: string): { name: string; value: number }[] {
  const sums = new Map<string, number>();
  for (const each of node.allocations ?? []) {
    const name = each.applicationId ?? "";
    sums.set(name, (sums.get(name) ?? 0) + (each.resource?.[type] ?? 0));
  }
  const pieces = [...sums].map(([name, value]) => ({ name, value })).filter((each) => each.value > 0);
  pieces.sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
  const others = node.occupied?.[type] ?? 0;
  return others > 0 ? [...pieces, { name: "others than the scheduler", value: others }] : pieces;
}

function NodeAllocations({ node }: { readonly node: Node }) {
  const rows = [...(node.allocations ?? []), ...(node.foreignAllocations ?? [])];
  return (
    <Panel title={`Allocations: ${count(rows.length)}`} class="bounded">
      {rows.length === 0 ? (
        <Empty>Nothing runs on it.</Empty>
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
  { key: "app", title: "Application", width: 200, grows: true, cell: application },
  { key: "key", title: "Allocation", width: 220, grows: true, cell: (row) => <span title={row.allocationKey}>{row.allocationID ?? row.allocationKey}</span> },
  { key: "resource", title: "Resource", width: 240, grows: true, cell: (row) => amounts(row.resource) },
  { key: "priority", title: "Priority", width: 70, right: true, cell: (row) => row.priority ?? "0" },
  { key: "kind", title: "Kind", width: 140, cell: (row) => (row.placeholder ? "placeholder" : row.preempted ? "is preempted" : "") },
  { key: "since", title: "Since", width: 120, right: true, cell: (row) => <Since at={row.allocationTime} /> },
];

function application(row: Allocation) {
  if (!row.applicationId) return <span class="faint">not of the scheduler</span>;
  return <a href={link("application", [row.applicationId])} title={row.applicationId}>{row.applicationId}</a>;
}

function Since({ at }: { readonly at: number | undefined }) {
  const now = useNow();
  return <span title={moment(at)}>{ago(at, now)}</span>;
}
