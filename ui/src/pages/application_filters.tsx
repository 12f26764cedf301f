// The filters of the table of applications.

import { setFilters, usePlace } from "../base/place";
import { Choice, Search } from "../parts/choice";
import { LISTS } from "./application_rows";

/** States by which the service can filter. */
const STATES = ["", "new", "accepted", "starting", "running", "completing", "failing", "resuming"];

export function ApplicationFilters() {
  const { query } = usePlace();
  const list = query.get("list") ?? "active";
  return (
    <>
      <Choice
        name="List"
        value={list}
        options={LISTS.map((each) => [each, each])}
        onChoice={(value) => setFilters({ list: value === "active" ? "" : value, state: "" })}
      />
      {list === "active" && (
        <Choice
          name="State"
          value={query.get("state") ?? ""}
          options={STATES.map((each) => [each, each || "all"])}
          onChoice={(value) => setFilters({ state: value })}
        />
      )}
      <Search name="Queue" value={query.get("queue") ?? ""} onSearch={(value) => setFilters({ queue: value })} />
      <Search name="ID or user" value={query.get("search") ?? ""} onSearch={(value) => setFilters({ search: value })} />
    </>
  );
}
