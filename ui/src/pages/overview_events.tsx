// The last event records, without those that come with each allocation.

import { api, withQuery } from "../base/client";
import { useLive } from "../base/live";
import { link } from "../base/place";
import type { EventBatch } from "../base/shapes";
import { clockTime, milliseconds } from "../base/times";
import { changeName, typeName } from "../base/flags";
import { Empty, Panel } from "../parts/panel";
import { ObjectLink } from "../parts/object_link";

const SHOWN = 12;
const ASKED = 300;

/** What happens with each allocation: other changes would not be seen among these. */
const FREQUENT = new Set([101, 200, 201, 303, 306, 405, 406, 500, 602, 603, 604]);

export function RecentEvents() {
  const query = { start: "latest", count: ASKED, format: "v2" };
  const batch = useLive<EventBatch>(withQuery(api("events", "batch"), query));
  const kept = (batch.value?.EventRecords ?? []).filter(({ record }) => !FREQUENT.has(record.eventChangeDetail ?? 0));
  const records = kept.slice(-SHOWN).reverse();
  return (
    <Panel title="What changed last" aside={<a href={link("events")}>all events</a>} problem={batch.problem}>
      {batch.value && records.length === 0 && <Empty>Nothing but allocations.</Empty>}
      <table class="plain">
        <tbody>
          {records.map(({ id, record, partition }) => (
            <tr key={id}>
              <td class="time">{clockTime(milliseconds(record.timestampNano ?? 0))}</td>
              <td class="name"><ObjectLink type={record.type} name={record.objectID ?? ""} partition={partition} /></td>
              <td class="words">
                {changeName(record.eventChangeType, record.eventChangeDetail) || typeName(record.type)}
                {record.message ? `: ${record.message}` : ""}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
