// What users and groups use, queue by queue, against their limits.

import { useMemo } from "preact/hooks";
import { useLive } from "../base/live";
import { usePartitionApi } from "../base/partition";
import { link, setFilters, usePlace } from "../base/place";
import type { Usage, UsageQueue } from "../base/shapes";
import { amount, count, label, ordered } from "../base/units";
import { Search } from "../parts/choice";
import { Meter } from "../parts/meter";
import { Panel } from "../parts/panel";
import type { Column } from "../parts/table";
import { Table } from "../parts/table";

export interface UsageRow {
  readonly who: string;
  readonly group: boolean;
  readonly depth: number;
  readonly use: UsageQueue;
}

/** Return a row for each queue of each user and group whose name has a text in it. */
export function usageRows(usages: readonly Usage[], search: string): UsageRow[] {
  const wanted = search.trim().toLowerCase();
  const rows: UsageRow[] = [];
  for (const usage of usages) {
    const who = usage.userName ?? usage.groupName ?? "";
    if (!who.toLowerCase().includes(wanted)) continue;
    const visit = (use: UsageQueue, depth: number): void => {
      rows.push({ who, group: usage.userName === undefined, depth, use });
      for (const child of use.children ?? []) visit(child, depth + 1);
    };
    visit(usage.queues, 0);
  }
  return rows;
}

export function UsersPage() {
  const { query } = usePlace();
  const at = usePartitionApi();
  const users = useLive<Usage[]>(at(["usage", "users"]));
  const groups = useLive<Usage[]>(at(["usage", "groups"]));
  const search = query.get("search") ?? "";
  const all = useMemo(() => [...(users.value ?? []), ...(groups.value ?? [])], [users.value, groups.value]);
  const rows = useMemo(() => usageRows(all, search), [all, search]);
  const types = useMemo(() => ordered(rows.flatMap((row) => Object.keys(row.use.resourceUsage ?? {}))), [rows]);
  return (
    <>
      <h1 class="hidden">Users and groups</h1>
      <div class="filters">
        <Search name="Name" value={search} onSearch={(value) => setFilters({ search: value })} />
        <span class="told" role="status">
          {users.value ? `${count(users.value.length)} users, ${count(groups.value?.length ?? 0)} groups` : ""}
        </span>
      </div>
      <Panel title="Use and limits" class="fill" problem={users.problem ?? groups.problem}>
        <Table
          name="Use and limits of users and groups"
          columns={usageColumns(types.slice(0, 4))}
          rows={rows.length}
          row={(index) => rows[index]}
          rowKey={(row) => `${row.group ? "group" : "user"} ${row.who} ${row.use.queuePath}`}
          empty={users.value === undefined ? "…" : "Nobody uses anything, and nobody has a limit."}
        />
      </Panel>
    </>
  );
}

function usageColumns(types: readonly string[]): readonly Column<UsageRow>[] {
  return [
    { key: "who", title: "Name", width: 150, grows: true, cell: (row) => (row.depth === 0 ? <b title={row.who}>{row.who}</b> : "") },
    { key: "kind", title: "Kind", width: 70, cell: (row) => (row.depth === 0 ? (row.group ? "group" : "user") : "") },
    {
      key: "queue", title: "Queue", width: 230, grows: true,
      cell: (row) => <a href={link("queues", [], { queue: row.use.queuePath })} title={row.use.queuePath}>{row.use.queuePath}</a>,
    },
    {
      key: "apps", title: "Running", width: 90, right: true,
      cell: ({ use }) => count(use.runningApplications?.length ?? 0) + (use.maxApplications ? ` / ${count(use.maxApplications)}` : ""),
    },
    ...types.map((type): Column<UsageRow> => ({
      key: type, title: label(type), width: 200, right: true, cell: ({ use }) => <UseCell use={use} type={type} />,
    })),
  ];
}

function UseCell({ use, type }: { readonly use: UsageQueue; readonly type: string }) {
  const used = use.resourceUsage?.[type] ?? 0;
  const most = use.maxResources?.[type];
  if (most === undefined) return <>{used === 0 ? "–" : amount(type, used)}</>;
  return <Meter type={type} used={used} whole={most} maximum={most} wide="whole" />;
}
