// One calm line while the scheduler does not answer; what is shown meanwhile is the last that came.

import { useCell } from "../base/cell";
import { lostSince } from "../base/client";
import { clockTime, duration, useNow } from "../base/times";

export function Connection() {
  const since = useCell(lostSince);
  const now = useNow();
  return (
    <div class="connection" role="status">
      {since !== 0 && (
        <p>
          <span aria-hidden="true">▲</span> No connection to the scheduler since {clockTime(since)} (
          {duration(now - since)}). What you see is from before; the page tries again by itself.
        </p>
      )}
    </div>
  );
}
