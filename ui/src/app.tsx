// The frame of all pages: where to go, which partition, what is wrong with the connection.

import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useCell } from "./base/cell";
import { Partitions, useAllPartitions, useReady } from "./base/partition";
import { link, usePlace } from "./base/place";
import { signInReason } from "./base/token";
import { Connection } from "./parts/connection";
import { Settings } from "./parts/settings";
import { SignIn } from "./parts/sign_in";
import { ApplicationPage } from "./pages/application";
import { ApplicationsPage } from "./pages/applications";
import { ConfigurationPage } from "./pages/configuration";
import { DryRunPage } from "./pages/dry_run";
import { EventsPage } from "./pages/events";
import { FairSharePage } from "./pages/fair_share";
import { HealthPage } from "./pages/health";
import { NodePage } from "./pages/node";
import { NodesPage } from "./pages/nodes";
import { OverviewPage } from "./pages/overview";
import { PreemptionsPage } from "./pages/preemptions";
import { QueuesPage } from "./pages/queues";
import { UsersPage } from "./pages/users";

interface PageEntry {
  readonly title: string;
  readonly view: ComponentType;
  /** Whether the page is in the list of pages. */
  readonly listed: boolean;
}

const PAGES: Readonly<Record<string, PageEntry>> = {
  overview: { title: "Overview", view: OverviewPage, listed: true },
  queues: { title: "Queues", view: QueuesPage, listed: true },
  applications: { title: "Applications", view: ApplicationsPage, listed: true },
  application: { title: "Application", view: ApplicationPage, listed: false },
  nodes: { title: "Nodes", view: NodesPage, listed: true },
  node: { title: "Node", view: NodePage, listed: false },
  dryrun: { title: "Dry run", view: DryRunPage, listed: false },
  events: { title: "Events", view: EventsPage, listed: true },
  preemptions: { title: "Preemptions", view: PreemptionsPage, listed: true },
  users: { title: "Users", view: UsersPage, listed: true },
  fairshare: { title: "Fair share", view: FairSharePage, listed: true },
  configuration: { title: "Configuration", view: ConfigurationPage, listed: true },
  health: { title: "Health", view: HealthPage, listed: true },
};

/** The reference's names of pages (WEB-4). */
const FORMER: Readonly<Record<string, string>> = {
  dashboard: "overview",
  status: "health",
  "queues-v2": "queues",
};

/** The page in the list that a page belongs to. */
const HOMES: Readonly<Record<string, string>> = { application: "applications", dryrun: "queues", node: "nodes" };

export function App() {
  return <Partitions.Provider value={useAllPartitions()}><Frame /></Partitions.Provider>;
}

function Frame() {
  const { page, names, query } = usePlace();
  const wanted = Object.hasOwn(FORMER, page) ? (FORMER[page] ?? "") : page;
  const name = Object.hasOwn(PAGES, wanted) ? wanted : "overview";
  const entry = PAGES[name];
  const reason = useCell(signInReason);
  const ready = useReady();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(page);
  useEffect(() => {
    document.title = `${[...names, entry?.title].join(" ")} · remuda`;
    if (shown.current !== page) main.current?.focus({ preventScroll: true });
    shown.current = page;
  }, [page, names, entry]);
  if (entry === undefined) return null;
  const kiosk = query.get("kiosk") === "1";
  const View = entry.view;
  return (
    <div class={kiosk ? "frame kiosk" : "frame"}>
      {!kiosk && <Top here={HOMES[name] ?? name} />}
      <Connection />
      <main ref={main} tabIndex={-1} aria-label={entry.title}>
        {reason !== "" ? <SignIn reason={reason} /> : ready && <View key={`${name}/${names.join("/")}`} />}
      </main>
    </div>
  );
}

function Top({ here }: { readonly here: string }) {
  const pages = useRef<HTMLElement>(null);
  // On a narrow screen the list of pages scrolls; the page that is shown must be in view.
  useEffect(() => {
    const link = pages.current?.querySelector("[aria-current]");
    link?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [here]);
  return (
    <header class="top">
      <a class="brand" href={link("overview")}>remuda</a>
      <nav aria-label="Pages" ref={pages}>
        {Object.entries(PAGES)
          .filter(([, entry]) => entry.listed)
          .map(([name, entry]) => (
            <a key={name} href={link(name)} aria-current={name === here ? "page" : undefined}>
              {entry.title}
            </a>
          ))}
      </nav>
      <Settings />
    </header>
  );
}
