// A long list of the service, of which the pages in view are fetched, or all of it if that is asked for.

import { Cell } from "./cell";
import { AskError, ask, withQuery } from "./client";

/** Rows of one request: for what is in view, and when everything is wanted. */
const PAGE = 200;
const LARGE_PAGE = 5_000;

/** Rows that are held at most; further ones are not looked at, and the page says so. */
export const MOST_ROWS = 200_000;

export class PagedList<T> {
  /** Changes when there is something new to draw. */
  readonly version = new Cell<number>(0);
  /** Elements of the whole list; -1: not known yet. */
  total = -1;
  problem: AskError | undefined;
  /** All rows, as far as they have come; undefined: only pages in view are fetched. */
  all: T[] | undefined;
  complete = false;
  private pages = new Map<number, readonly T[]>();
  private coming = new Set<number>();
  private running: Promise<void> | undefined;
  private seen: readonly [number, number] = [0, 1];
  private readonly control = new AbortController();

  constructor(
    private readonly path: string,
    private readonly query: Readonly<Record<string, string>>,
  ) {}

  row(index: number): T | undefined {
    if (this.all !== undefined) return this.all[index];
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** Fetch what is missing of the rows in view. */
  view(first: number, end: number): void {
    this.seen = [first, end];
    if (this.all !== undefined) return;
    for (const page of this.wanted()) if (!this.pages.has(page)) void this.fetchPage(page);
  }

  /** Fetch the rows in view again, and forget the others. */
  async refresh(): Promise<void> {
    if (this.all !== undefined || this.control.signal.aborted) return;
    const wanted = this.wanted();
    await Promise.all(wanted.map((page) => this.fetchPage(page)));
    for (const page of [...this.pages.keys()]) if (!wanted.includes(page)) this.pages.delete(page);
  }

  /** Fetch everything, a large page at a time; each page that came is drawn. One such call runs at a time. */
  fetchAll(): Promise<void> {
    this.running ??= this.fetchPages().finally(() => (this.running = undefined));
    return this.running;
  }

  private async fetchPages(): Promise<void> {
    const rows: T[] = [];
    // Rows that are shown stay until the first new ones have come.
    if (this.all === undefined) this.all = [];
    this.complete = false;
    for (;;) {
      const some = await this.fetch(rows.length, LARGE_PAGE);
      if (some === undefined) return;
      rows.push(...some);
      if (rows.length > (this.all?.length ?? 0) || some.length < LARGE_PAGE) this.all = [...rows];
      const bound = Math.min(this.total, MOST_ROWS);
      if (some.length === 0 || rows.length >= bound) break;
      this.changed();
    }
    this.complete = true;
    this.changed();
  }

  /** Stop all requests. */
  close(): void {
    this.control.abort();
  }

  private wanted(): number[] {
    const [first, end] = this.seen;
    const last = this.total < 0 ? 0 : Math.max(0, Math.ceil(this.total / PAGE) - 1);
    const from = Math.min(Math.floor(first / PAGE), last);
    const to = Math.min(Math.floor(Math.max(first, end - 1) / PAGE), last);
    return Array.from({ length: to - from + 1 }, (_, at) => from + at);
  }

  private async fetchPage(page: number): Promise<void> {
    if (this.coming.has(page)) return;
    this.coming.add(page);
    const rows = await this.fetch(page * PAGE, PAGE);
    this.coming.delete(page);
    if (rows === undefined) return;
    this.pages.set(page, rows);
    this.changed();
  }

  private async fetch(offset: number, limit: number): Promise<readonly T[] | undefined> {
    const path = withQuery(this.path, { ...this.query, offset, limit });
    try {
      const answer = await ask<T[]>(path, { signal: this.control.signal });
      this.total = answer.total < 0 ? (answer.value?.length ?? 0) : answer.total;
      this.problem = undefined;
      return answer.value ?? [];
    } catch (error) {
      if (this.control.signal.aborted) return undefined;
      this.problem = error instanceof AskError ? error : new AskError(0, String(error));
      this.changed();
      return undefined;
    }
  }

  private changed(): void {
    if (!this.control.signal.aborted) this.version.set(this.version.get() + 1);
  }
}
