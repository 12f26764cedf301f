// One application: where it stands, what it holds, what waits and why.

import { useLive } from "../base/live";
import { usePartitionApi } from "../base/partition";
import { link, usePlace } from "../base/place";
import type { Application, Pending } from "../base/shapes";
import { ago, moment, useNow } from "../base/times";
import { amounts, count, positive } from "../base/units";
import { Badge } from "../parts/badge";
import { Empty, Facts, Panel, Problem } from "../parts/panel";
import { StateLine } from "../parts/state_line";
import { ApplicationAllocations } from "./application_allocations";
import { ApplicationAsks } from "./application_asks";
import { ApplicationEvents } from "./application_events";
import { Gang } from "./application_gang";

export function ApplicationPage() {
  const { names } = usePlace();
  const id = names[0] ?? "";
  const at = usePartitionApi();
  const found = useLive<Application>(at(["application", id], { include: "completed,rejected" }));
  const application = found.value;
  const waits = (application?.requests?.length ?? 0) > 0;
  const pending = useLive<Pending>(waits ? at(["application", id, "pending"]) : undefined);
  return (
    <>
      <div class="head">
        <h1>{id}</h1>
        {application && <Badge state={application.applicationState} />}
      </div>
      <Problem problem={found.problem} />
      {application && (
        <>
          <Panel title="Application">
            <ApplicationFacts application={application} pending={pending.value} />
            <StateLine application={application} />
          </Panel>
          {waits && <ApplicationAsks application={application} pending={pending.value} problem={pending.problem} />}
          {application.placeholderData && <Gang groups={application.placeholderData} allocations={application.allocations ?? []} />}
          <ApplicationAllocations application={application} />
          <ApplicationEvents id={id} />
        </>
      )}
      {found.problem?.status === 404 && (
        <Empty>It may have ended a while ago: see the lists of <a href={link("applications", [], { list: "completed" })}>completed</a> and <a href={link("applications", [], { list: "rejected" })}>rejected</a> applications.</Empty>
      )}
    </>
  );
}

interface FactsProps {
  readonly application: Application;
  readonly pending: Pending | undefined;
}

function ApplicationFacts({ application, pending }: FactsProps) {
  const now = useNow();
  const place = pending?.position ? `${count(pending.position)} of ${count(pending.of ?? 0)} in its queue` : "";
  const facts: (readonly [string, preact.ComponentChildren])[] = [
    ["Queue", <a href={link("queues", [], { queue: application.queueName })}>{application.queueName || "none"}</a>],
    ["User", <a href={link("users", [], { search: application.user })}>{application.user}</a>],
    ["Groups", (application.groups ?? []).join(", ") || "none"],
    ["Submitted", `${moment(application.submissionTime)} (${ago(application.submissionTime, now)})`],
    ["Used", amounts(application.usedResource)],
    ["Most used", amounts(application.maxUsedResource)],
  ];
  const waiting = amounts(positive(application.pendingResource), "");
  if (waiting !== "") facts.push(["Waiting", waiting]);
  if (place !== "") facts.push(["Place", place]);
  if (application.finishedTime) facts.push(["Ended", moment(application.finishedTime)]);
  if (application.rejectedMessage) facts.push(["Rejected because", application.rejectedMessage]);
  if (application.reservations) facts.push(["Reservations", application.reservations.join(", ")]);
  const taken = application.evictions?.length ?? 0;
  if (taken > 0) facts.push(["Preempted", <a href={link("preemptions", [], { application: application.applicationID })}>{taken} times</a>]);
  return <Facts facts={facts} />;
}
