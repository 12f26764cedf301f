// The task groups of a gang: how many placeholders were asked for, are held, were replaced or gave up.

import type { Allocation, TaskGroup } from "../base/shapes";
import { amounts, count } from "../base/units";
import { Panel } from "../parts/panel";

interface GangProps {
  readonly groups: readonly TaskGroup[];
  readonly allocations: readonly Allocation[];
}

export function Gang({ groups, allocations }: GangProps) {
  return (
    <Panel title="Gang">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Task group</th>
            <th scope="col">Each needs</th>
            <th scope="col" class="right">Wanted</th>
            <th scope="col" class="right">Placeholders held</th>
            <th scope="col" class="right">Replaced</th>
            <th scope="col" class="right">Timed out</th>
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <tr key={group.taskGroupName}>
              <td class="name">{group.taskGroupName}</td>
              <td>{amounts(group.minResource)}</td>
              <td class="right">{count(group.count ?? 0)}</td>
              <td class="right">{count(held(allocations, group.taskGroupName))}</td>
              <td class="right">{count(group.replaced ?? 0)}</td>
              <td class="right">{count(group.timedout ?? 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function held(allocations: readonly Allocation[], group: string | undefined): number {
  return allocations.filter((each) => each.placeholder && each.taskGroupName === group).length;
}
