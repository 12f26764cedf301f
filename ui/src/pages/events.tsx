// Event records as they come, with filters; a pause holds the table still while records are kept.

import { useEffect, useMemo, useState } from "preact/hooks";
import { useCell } from "../base/cell";
import { EventFeed, KEPT } from "../base/event_feed";
import { EVENT_TYPES, changeName, typeName } from "../base/flags";
import { setFilters, usePlace } from "../base/place";
import type { EventLine } from "../base/shapes";
import { clockTime, milliseconds, moment } from "../base/times";
import { token } from "../base/token";
import { amounts, count } from "../base/units";
import { Choice, Search } from "../parts/choice";
import { ObjectLink } from "../parts/object_link";
import { Panel } from "../parts/panel";
import type { Column } from "../parts/table";
import { Table } from "../parts/table";

export function EventsPage() {
  const { query } = usePlace();
  const type = query.get("type") ?? "";
  const object = query.get("object") ?? "";
  const search = query.get("search") ?? "";
  const known = useCell(token);
  const feed = useMemo(() => new EventFeed({ type, objectID: object }), [type, object, known]);
  useEffect(() => () => feed.close(), [feed]);
  const version = useCell(feed.version);
  const [held, setHeld] = useState<readonly EventLine[]>();
  const rows = useMemo(() => fitting(held ?? feed.lines, search), [held, feed, version, search]);
  return (
    <>
      <h1 class="hidden">Events</h1>
      <div class="filters">
        <Choice name="About" value={type} options={EVENT_TYPES} onChoice={(value) => setFilters({ type: value })} />
        <Search name="Object" value={object} onSearch={(value) => setFilters({ object: value })} />
        <Search name="Text" value={search} onSearch={(value) => setFilters({ search: value })} />
        <button
          type="button"
          aria-pressed={held !== undefined}
          onClick={() => setHeld(held === undefined ? [...feed.lines] : undefined)}
        >
          {held === undefined ? "Pause" : "Go on"}
        </button>
        <button type="button" disabled={rows.length === 0} onClick={() => save(rows)}>Save as NDJSON</button>
        <span class="told" role="status">{told(feed, rows.length, held)}</span>
      </div>
      <Panel title="Events, newest first" class="fill" problem={feed.problem}>
        <Table
          name="Events"
          columns={COLUMNS}
          rows={rows.length}
          row={(index) => rows[index]}
          rowKey={(row) => String(row.id)}
          empty={feed.mode === "" ? "…" : "No record fits yet. New ones will appear here."}
        />
      </Panel>
    </>
  );
}

function told(feed: EventFeed, shown: number, held: readonly EventLine[] | undefined): string {
  const missed = feed.missed > 0 ? `${count(feed.missed)} were gone before they could be read; ` : "";
  const paused = held === undefined ? feed.mode : "paused";
  return `${missed}${count(shown)} records${paused ? `, ${paused}` : ""}`;
}

function fitting(lines: readonly EventLine[], search: string): EventLine[] {
  const wanted = search.trim().toLowerCase();
  const fits = ({ record }: EventLine): boolean =>
    wanted === "" ||
    [record.objectID, record.referenceID, record.message, changeName(record.eventChangeType, record.eventChangeDetail)]
      .some((each) => each?.toLowerCase().includes(wanted));
  return lines.filter(fits).slice(-KEPT).reverse();
}

/** Offer the records as a file. */
function save(rows: readonly EventLine[]): void {
  const text = [...rows].reverse().map((each) => `${JSON.stringify(each)}\n`).join("");
  const source = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  const anchor = document.createElement("a");
  anchor.href = source;
  anchor.download = "events.ndjson";
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(source), 1_000);
}

function resource({ record }: EventLine): string {
  const found = Object.entries(record.resource?.resources ?? {});
  return found.length === 0 ? "" : amounts(Object.fromEntries(found.map(([type, { value }]) => [type, value ?? 0])));
}

const COLUMNS: readonly Column<EventLine>[] = [
  { key: "time", title: "Time", width: 105, cell: ({ record }) => <span title={moment(record.timestampNano)}>{clockTime(milliseconds(record.timestampNano ?? 0), 3)}</span> },
  { key: "type", title: "About", width: 110, cell: ({ record }) => typeName(record.type) },
  {
    key: "object", title: "Object", width: 190, grows: true,
    cell: ({ record, partition }) => <ObjectLink type={record.type} name={record.objectID ?? ""} partition={partition} />,
  },
  {
    key: "change", title: "Change", width: 180,
    cell: ({ record }) => changeName(record.eventChangeType, record.eventChangeDetail),
  },
  { key: "reference", title: "Concerns", width: 180, grows: true, cell: ({ record }) => <span title={record.referenceID}>{record.referenceID}</span> },
  { key: "message", title: "Message", width: 220, grows: true, cell: ({ record }) => <span title={record.message}>{record.message}</span> },
  { key: "resource", title: "Resource", width: 190, cell: resource },
];
