// What a reader chooses for all pages: partition, refresh, time zone, colours; and signing out.

import { useContext } from "preact/hooks";
import { useCell } from "../base/cell";
import { Partitions, usePartition } from "../base/partition";
import { address, usePlace } from "../base/place";
import { refresh, theme, zone } from "../base/settings";
import type { Partition } from "../base/shapes";
import { token, useToken } from "../base/token";
import { Choice } from "./choice";

export function Settings() {
  const partitions = useContext(Partitions).value ?? [];
  const known = useCell(token);
  return (
    <details class="settings">
      <summary>Settings</summary>
      <div class="choices">
      {partitions.length > 1 && <PartitionChoice partitions={partitions} />}
      <Choice
        name="Refresh"
        value={useCell(refresh)}
        options={[["2", "2 s"], ["5", "5 s"], ["30", "30 s"], ["0", "off"]]}
        onChoice={(value) => refresh.set(value)}
      />
      <Choice
        name="Times"
        value={useCell(zone)}
        options={[["local", "local"], ["utc", "UTC"]]}
        onChoice={(value) => zone.set(value)}
      />
      <Choice
        name="Colours"
        value={useCell(theme)}
        options={[["system", "system"], ["light", "light"], ["dark", "dark"]]}
        onChoice={(value) => theme.set(value)}
      />
        {known !== "" && <button type="button" onClick={() => useToken("")}>Sign out</button>}
      </div>
    </details>
  );
}

function PartitionChoice({ partitions }: { readonly partitions: readonly Partition[] }) {
  const { page } = usePlace();
  const shown = usePartition();
  const here = partitions.findIndex((each) => each.name === shown?.name && each.clusterId === shown.clusterId);
  return (
    <Choice
      name="Partition"
      value={String(here)}
      options={partitions.map((each, at) => [String(at), `${each.clusterId} / ${each.name}`])}
      onChoice={(at) => {
        const next = partitions[Number(at)];
        if (next === undefined) return;
        const more = new Map([["partition", next.name], ["rm", next.clusterId]]);
        location.hash = address(page, [], more);
      }}
    />
  );
}
