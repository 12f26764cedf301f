// What happened to an application lately, from the event records that are in memory.

import { api, withQuery } from "../base/client";
import { changeName, typeName } from "../base/flags";
import { useLive } from "../base/live";
import type { EventBatch } from "../base/shapes";
import { moment } from "../base/times";
import { Empty, Panel } from "../parts/panel";

const SHOWN = 40;

export function ApplicationEvents({ id }: { readonly id: string }) {
  const query = { start: "latest", count: SHOWN, format: "v2", objectID: id };
  const batch = useLive<EventBatch>(withQuery(api("events", "batch"), query));
  const records = [...(batch.value?.EventRecords ?? [])].reverse();
  return (
    <Panel title="Events" problem={batch.problem}>
      {batch.value && records.length === 0 && <Empty>No event record of it is in memory.</Empty>}
      <table class="plain">
        <tbody>
          {records.map(({ id: number, record }) => (
            <tr key={number}>
              <td class="time">{moment(record.timestampNano)}</td>
              <td>{changeName(record.eventChangeType, record.eventChangeDetail) || typeName(record.type)}</td>
              <td class="words">{record.referenceID}</td>
              <td class="words">{record.message}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
