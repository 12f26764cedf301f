// Users and groups with use or a limit in one queue.

import { useLive } from "../base/live";
import { usePartitionApi } from "../base/partition";
import { link } from "../base/place";
import type { Usage, UsageQueue } from "../base/shapes";
import { amounts } from "../base/units";
import { Empty } from "../parts/panel";

const MOST = 20;

/** Return the use of one queue out of the tree of a user. */
export function usageOf(usage: UsageQueue, path: string): UsageQueue | undefined {
  if (usage.queuePath === path) return usage;
  if (!path.startsWith(`${usage.queuePath}.`)) return undefined;
  for (const child of usage.children ?? []) {
    const found = usageOf(child, path);
    if (found) return found;
  }
  return undefined;
}

export function QueueUsers({ name }: { readonly name: string }) {
  const at = usePartitionApi();
  const users = useLive<Usage[]>(at(["usage", "users"]), 10);
  const groups = useLive<Usage[]>(at(["usage", "groups"]), 10);
  const found = [...(users.value ?? []), ...(groups.value ?? [])]
    .map((each) => ({ who: each, use: usageOf(each.queues, name) }))
    .filter(({ use }) => use && (use.resourceUsage || use.maxResources || use.maxApplications));
  if (users.problem?.status === 403) return null;
  return (
    <>
      <h2>Users and groups</h2>
      {found.length === 0 && <Empty>Nobody uses this queue, and nobody has a limit in it.</Empty>}
      <ul class="list">
        {found.slice(0, MOST).map(({ who, use }) => {
          const kind = who.userName === undefined ? "group" : "user";
          const title = who.userName ?? who.groupName ?? "";
          return (
            <li key={`${kind} ${title}`}>
              <a href={link("users", [], { search: title })}>{title}</a> <small>{kind}</small>:{" "}
              {amounts(use?.resourceUsage, "uses nothing")}
              {use?.maxResources ? <span class="faint"> of {amounts(use.maxResources)}</span> : null}
            </li>
          );
        })}
      </ul>
      {found.length > MOST && <p class="faint">{found.length - MOST} more: see <a href={link("users")}>users</a>.</p>}
    </>
  );
}
