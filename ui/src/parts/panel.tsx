// A part of a page with a heading. What it shows may fail without the rest of the page (WEB-38).

import type { ComponentChildren } from "preact";
import type { AskError } from "../base/client";

interface PanelProps {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly problem?: AskError | undefined;
  readonly class?: string;
  readonly children?: ComponentChildren;
}

export function Panel({ title, aside, problem, children, ...rest }: PanelProps) {
  return (
    <section class={`panel ${rest.class ?? ""}`}>
      <header>
        <h2>{title}</h2>
        {aside !== undefined && <div class="aside">{aside}</div>}
      </header>
      <Problem problem={problem} />
      {children}
    </section>
  );
}

/** What went wrong with a question. A service that does not answer at all has a line above all pages. */
export function Problem({ problem }: { readonly problem?: AskError | undefined }) {
  if (problem === undefined || problem.status === 0 || problem.status === 401) return null;
  return (
    <p class="problem" role="status">
      <span aria-hidden="true">▲</span> {problem.message}
    </p>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** Names and values in two columns. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
