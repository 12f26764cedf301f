// What each queue has of its fair share, what it is owed, and how its parent compares it.

import { useLive } from "../base/live";
import { usePartitionApi } from "../base/partition";
import { link, setFilters, usePlace } from "../base/place";
import type { FairShare } from "../base/shapes";
import { lasted, useNow } from "../base/times";
import { amount, amounts, count, label, ordered, positive } from "../base/units";
import { Search } from "../parts/choice";
import { Panel } from "../parts/panel";
import type { Column } from "../parts/table";
import { Table } from "../parts/table";

export function FairSharePage() {
  const { query } = usePlace();
  const at = usePartitionApi();
  const shares = useLive<FairShare[]>(at(["fairshare"]));
  const search = (query.get("search") ?? "").trim().toLowerCase();
  const named = query.get("queue") ?? "";
  const rows = (shares.value ?? []).filter((each) => each.queueName.toLowerCase().includes(search));
  return (
    <>
      <h1 class="hidden">Fair share</h1>
      <div class="filters">
        <Search name="Queue" value={query.get("search") ?? ""} onSearch={(value) => setFilters({ search: value })} />
        <span class="told" role="status">
          {shares.value ? `${count(shares.value.filter(isOwed).length)} queues wait for their guarantee` : ""}
        </span>
      </div>
      <Panel title="Fair share" class="fill" aside="a parent serves the queue with the lowest share first" problem={shares.problem}>
        <Table
          name="Fair share"
          columns={COLUMNS}
          rows={rows.length}
          row={(index) => rows[index]}
          rowKey={(row) => row.queueName}
          marked={(row) => row.queueName === named}
          empty={shares.value === undefined ? "…" : "No queue has this in its name."}
        />
      </Panel>
    </>
  );
}

const COLUMNS: readonly Column<FairShare>[] = [
  {
    key: "queue", title: "Queue", width: 220, grows: true,
    cell: (row) => <a href={link("queues", [], { queue: row.queueName })} title={row.queueName}>{row.queueName}</a>,
  },
  { key: "share", title: "Share", width: 80, right: true, cell: (row) => row.share.toFixed(3) },
  { key: "priority", title: "Priority", width: 80, right: true, cell: (row) => (row.priority === -2147483648 ? "–" : row.priority) },
  { key: "terms", title: "Made of", width: 260, grows: true, cell: terms },
  { key: "waiting", title: "Waiting", width: 190, grows: true, cell: (row) => amounts(row.pending, "–") },
  { key: "owed", title: "Owed of its guarantee", width: 270, grows: true, cell: (row) => <Owed row={row} /> },
];

/** Whether a queue waits for something of its guarantee now. */
export function isOwed(row: FairShare): boolean {
  return Boolean(row.belowSince) && Object.keys(positive(row.owed)).length > 0;
}

function terms(row: FairShare) {
  const order = ordered(row.terms.map((each) => each.resource));
  const sorted = [...row.terms].sort((a, b) => order.indexOf(a.resource) - order.indexOf(b.resource));
  const words = sorted.map(
    (each) => `${label(each.resource)} ${amount(each.resource, each.used)} / ${amount(each.resource, each.divisor)}`,
  );
  return <span title={words.join(", ")}>{words.join(", ") || "–"}</span>;
}

function Owed({ row }: { readonly row: FairShare }) {
  const now = useNow();
  if (!isOwed(row)) return <span class="faint">–</span>;
  return (
    <span class="badge worn" title={amounts(positive(row.owed))}>
      <span aria-hidden="true">◐</span> {amounts(positive(row.owed))} for {lasted(row.belowSince, now)}
    </span>
  );
}
