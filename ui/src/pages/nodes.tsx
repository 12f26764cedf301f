// All nodes of a partition: how full each is at a glance, and as a table.

import { useMemo } from "preact/hooks";
import { useLive } from "../base/live";
import { usePartitionApi } from "../base/partition";
import { link, setFilters, usePlace } from "../base/place";
import type { Node } from "../base/shapes";
import { amount, count, label, ordered } from "../base/units";
import { Badge } from "../parts/badge";
import { Choice, Search } from "../parts/choice";
import type { HeatCell } from "../parts/heat_map";
import { HeatMap } from "../parts/heat_map";
import { Meter } from "../parts/meter";
import { Panel } from "../parts/panel";
import type { Column, Order } from "../parts/table";
import { Table } from "../parts/table";
import { fitting, nodeState, readNodeOrder, share, sortedNodes } from "./node_rows";

const FIELDS =
  "nodeID,hostName,rackName,attributes,capacity,allocated,occupied,available,schedulable,ready,isReserved,reservations";
const BARS = 3;
const STATES = ["", "ready", "draining", "not ready", "reserved"];

/** How the map marks the states of nodes. */
const MARKS: Readonly<Record<string, HeatCell["mark"]>> = { draining: "cross", "not ready": "cross", reserved: "dot" };

/** So many nodes make an answer so large that it is asked for less often. */
const LARGE = 2_000;
const LARGE_SECONDS = 10;

export function NodesPage() {
  const { query } = usePlace();
  const at = usePartitionApi();
  const large = useLive<Node[]>(at(["nodes"], { limit: 1, fields: "nodeID" }), 60).total > LARGE;
  const nodes = useLive<Node[]>(at(["nodes"], { fields: FIELDS }), large ? LARGE_SECONDS : 0);
  const all = nodes.value;
  const search = query.get("search") ?? "";
  const state = query.get("state") ?? "";
  const types = useMemo(() => ordered((all ?? []).flatMap((each) => Object.keys(each.capacity ?? {}))), [all]);
  const resource = query.get("resource") || (types.includes("vcore") ? "vcore" : (types[0] ?? "vcore"));
  const order = readNodeOrder(query.get("order") ?? "");
  const found = useMemo(
    () => sortedNodes(fitting(all ?? [], search, state), order),
    [all, search, state, order.key, order.down],
  );
  const mapped = useMemo(() => found.filter((each) => share(each, resource) >= 0), [found, resource]);
  return (
    <>
      <h1 class="hidden">Nodes</h1>
      <div class="filters">
        <Search name="ID, host, rack or attribute" value={search} onSearch={(value) => setFilters({ search: value })} />
        <Choice
          name="State"
          value={state}
          options={STATES.map((each) => [each, each || "all"])}
          onChoice={(value) => setFilters({ state: value })}
        />
        <Choice
          name="Map shows"
          value={resource}
          options={types.map((each) => [each, label(each)])}
          onChoice={(value) => setFilters({ resource: value })}
        />
        <span class="told" role="status">{all ? `${count(found.length)} of ${count(all.length)} nodes` : ""}</span>
      </div>
      <Panel title={`Use of ${label(resource)}`} aside={without(found.length - mapped.length)} problem={nodes.problem}>
        <HeatMap
          name={`Use of ${label(resource)}`}
          cells={mapped.map((each) => ({
            id: each.nodeID,
            share: share(each, resource),
            mark: MARKS[nodeState(each)] ?? "",
          }))}
          describe={(index) => words(mapped[index], resource)}
          onChoice={(id) => (location.hash = link("node", [id]))}
        />
      </Panel>
      <Panel title="Nodes" class="fill">
        <Table
          name="Nodes"
          columns={nodeColumns(types.slice(0, BARS))}
          rows={found.length}
          row={(index) => found[index]}
          rowKey={(row) => row.nodeID}
          order={order}
          onOrder={(next: Order) => setFilters({ order: `${next.down ? "-" : ""}${next.key}` })}
          empty={all === undefined ? "…" : "No node fits."}
        />
      </Panel>
    </>
  );
}

function without(nodes: number): string | undefined {
  return nodes > 0 ? `${count(nodes)} nodes have none and are not in the map` : undefined;
}

function words(node: Node | undefined, type: string): string {
  if (node === undefined) return "";
  const whole = node.capacity?.[type] ?? 0;
  const used = (node.allocated?.[type] ?? 0) + (node.occupied?.[type] ?? 0);
  return `${node.nodeID}: ${label(type)} ${amount(type, used)} of ${amount(type, whole)}, ${nodeState(node)}`;
}

function nodeColumns(types: readonly string[]): readonly Column<Node>[] {
  return [
    {
      key: "id", title: "Node", width: 180, grows: true, sorts: true,
      cell: (row) => <a href={link("node", [row.nodeID])} title={row.nodeID}>{row.nodeID}</a>,
    },
    { key: "state", title: "State", width: 110, sorts: true, cell: (row) => <Badge state={nodeState(row)} /> },
    { key: "rack", title: "Rack", width: 130, sorts: true, cell: (row) => <span title={row.rackName}>{row.rackName}</span> },
    ...types.map((type): Column<Node> => ({
      key: `used ${type}`, title: label(type), width: 230, sorts: true,
      cell: (row) => (
        <Meter
          type={type}
          used={(row.allocated?.[type] ?? 0) + (row.occupied?.[type] ?? 0)}
          whole={row.capacity?.[type] ?? 0}
          wide="whole"
        />
      ),
    })),
  ];
}
