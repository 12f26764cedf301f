// Who took room from whom: as a picture and a table between queues or applications, and one by one.

import { useMemo } from "preact/hooks";
import { useLive } from "../base/live";
import { usePartitionApi } from "../base/partition";
import { link, setFilters, usePlace } from "../base/place";
import type { Preemption, Preemptions } from "../base/shapes";
import { ago, moment, useNow } from "../base/times";
import { amount, amounts, count, label, ordered } from "../base/units";
import { Badge } from "../parts/badge";
import { Choice, Search } from "../parts/choice";
import { FlowPicture } from "../parts/flow_picture";
import { Empty, Panel } from "../parts/panel";
import { SIDES, flows, picture, sizeOf } from "./preemption_flows";

const ASKED = 200;

/** Flows that are drawn and listed. */
const DRAWN = 20;

export function PreemptionsPage() {
  const { query } = usePlace();
  const at = usePartitionApi();
  const application = query.get("application") ?? "";
  const found = useLive<Preemptions>(at(["preemptions"], { application, limit: ASKED }));
  const all = useMemo(() => found.value?.preemptions ?? [], [found.value]);
  const types = useMemo(() => ordered(all.flatMap((each) => each.victims.flatMap((victim) => Object.keys(victim.resource ?? {})))), [all]);
  const side = query.get("side") === "applications" ? "applications" : "queues";
  const counted = query.get("count") ?? "";
  const type = types.includes(counted) ? counted : "";
  return (
    <>
      <h1 class="hidden">Preemptions</h1>
      <div class="filters">
        <Search name="Application" value={application} onSearch={(value) => setFilters({ application: value })} />
        <span class="told" role="status">{found.value ? `${count(all.length)}${all.length >= ASKED ? " newest" : ""} preemptions, newest first` : ""}</span>
      </div>
      <Panel
        title="Who took from whom"
        problem={found.problem}
        aside={
          <span class="filters">
            <Choice name="Between" value={side} options={SIDES.map((each) => [each, each])} onChoice={(value) => setFilters({ side: value === "queues" ? "" : value })} />
            <Choice name="Count" value={type} options={[["", "allocations"], ...types.map((each) => [each, label(each)] as const)]} onChoice={(value) => setFilters({ count: value })} />
          </span>
        }
      >
        {found.value && <Flows preemptions={all} side={side} type={type} />}
      </Panel>
      <Panel title="Preempted again and again">
        <Repeated repeated={found.value?.repeated ?? []} />
      </Panel>
      <Panel title="Preemptions">
        {found.value && all.length === 0 && <Empty>Nothing was preempted lately.</Empty>}
        <ul class="list">
          {all.map((each) => <PreemptionItem key={each.number} preemption={each} />)}
        </ul>
      </Panel>
    </>
  );
}

interface FlowsProps {
  readonly preemptions: readonly Preemption[];
  readonly side: string;
  readonly type: string;
}

/** The largest flows as a picture and as a table. */
function Flows({ preemptions, side, type }: FlowsProps) {
  const found = useMemo(() => flows(preemptions, side), [preemptions, side]);
  const largest = useMemo(() => [...found].sort((a, b) => sizeOf(b, type) - sizeOf(a, type)).slice(0, DRAWN), [found, type]);
  const format = (size: number): string => (type === "" ? count(size) : amount(type, size));
  if (found.length === 0) return <Empty>Nobody took room from anybody.</Empty>;
  const known = new Set(preemptions.flatMap((each) => [each.applicationId, ...each.victims.map((victim) => victim.applicationId)]));
  // A queue whose maximum was lowered takes without an application.
  const to = (name: string): string =>
    side === "applications" && known.has(name) ? link("application", [name]) : link("queues", [], { queue: name });
  return (
    <>
      <FlowPicture name="Who took from whom" picture={picture(largest, type, 140)} format={format} />
      {found.length > DRAWN && <p class="faint">These are the {DRAWN} largest of {count(found.length)}.</p>}
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Taken from</th>
            <th scope="col">For</th>
            <th scope="col" class="right">Allocations</th>
            <th scope="col">Amounts</th>
          </tr>
        </thead>
        <tbody>
          {largest.map((each) => (
            <tr key={JSON.stringify([each.from, each.to])}>
              <td class="name"><a href={to(each.from)}>{each.from}</a></td>
              <td class="name"><a href={to(each.to)}>{each.to}</a></td>
              <td class="right">{count(each.victims)}</td>
              <td class="words">{amounts(each.taken)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Repeated({ repeated }: { readonly repeated: Preemptions["repeated"] }) {
  const now = useNow();
  if (repeated.length === 0) return <Empty>No application loses allocations again and again.</Empty>;
  return (
    <ul class="list">
      {repeated.map((each) => (
        <li key={`${each.applicationId} ${each.allocationKey}`}>
          <a href={link("application", [each.applicationId])}>{each.applicationId}</a> {each.allocationKey}:{" "}
          {count(each.count)} times, last {ago(each.lastOccurrence, now)}
        </li>
      ))}
    </ul>
  );
}

function PreemptionItem({ preemption }: { readonly preemption: Preemption }) {
  return (
    <li>
      <div class="head">
        <b>{preemption.number}</b>
        <span class="faint">{moment(preemption.time)}</span>
        <span>{preemption.kind}</span>
        {preemption.applicationId && <a href={link("application", [preemption.applicationId])}>{preemption.applicationId}</a>}
        <span>{preemption.allocationKey}</span>
        <span>in {preemption.queueName}</span>
        {preemption.nodeId && <span>on <a href={link("node", [preemption.nodeId])}>{preemption.nodeId}</a></span>}
        <Badge state={preemption.outcome} />
        {preemption.cause && <span class="faint">{preemption.cause}</span>}
      </div>
      <p class="faint">needs {amounts(preemption.resource)}{(preemption.reasons ?? []).map((each) => `; ${each}`)}</p>
      <ul class="victims">
        {preemption.victims.map((each, index) => (
          <li key={index}>
            took {amounts(each.resource)} from <a href={link("application", [each.applicationId])}>{each.applicationId}</a>{" "}
            {each.allocationKey} ({each.queueName}, on {each.nodeId}){each.confirmed ? ", ended" : ""}
          </li>
        ))}
      </ul>
    </li>
  );
}
