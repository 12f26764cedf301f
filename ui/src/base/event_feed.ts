// Event records as they come: from the stream, or in batches while no stream is free.

import { Cell } from "./cell";
import { AskError, answered, api, ask, lostSince, withQuery } from "./client";
import { retryDelay } from "./live";
import type { EventBatch, EventLine } from "./shapes";

/** Records that are kept; older ones go. */
export const KEPT = 2_000;

/** Records of the past that the stream begins with. */
const PAST = 200;

/** Milliseconds between two drawings, however many records come. */
const DRAW_MS = 250;
const BATCH_MS = 2_000;

/** Statuses of a stream that is refused while batches are not: switched off, or all in use. */
const NO_STREAM = [500, 503];

interface StreamLine extends Partial<EventLine> {
  readonly InstanceUUID?: string;
  readonly gap?: { readonly requested: number; readonly lowest: number };
  readonly message?: string;
}

export class EventFeed {
  /** Changes when there is something new to draw. */
  readonly version = new Cell<number>(0);
  lines: EventLine[] = [];
  /** How the records come, for the reader; empty: not known yet. */
  mode = "";
  missed = 0;
  problem: AskError | undefined;
  private instance = "";
  private next = -1;
  private waiting = false;
  private readonly control = new AbortController();

  constructor(private readonly filters: Readonly<Record<string, string>>) {
    void this.run();
  }

  close(): void {
    this.control.abort();
  }

  private async run(): Promise<void> {
    let failures = 0;
    while (!this.control.signal.aborted) {
      try {
        await this.stream();
        failures = 0;
      } catch (error) {
        if (this.control.signal.aborted) return;
        if (error instanceof AskError && NO_STREAM.includes(error.status)) {
          if (await this.batch()) failures = 0;
          await this.pause(BATCH_MS);
          continue;
        }
        this.problem = error instanceof AskError ? error : new AskError(0, String(error));
        this.changed();
      }
      failures += 1;
      await this.pause(retryDelay(failures));
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }

  private async stream(): Promise<void> {
    const from = this.next < 0 ? { count: PAST } : { start: this.next };
    const path = withQuery(api("events", "stream"), { ...this.filters, ...from, format: "v2" });
    const begun = new AbortController();
    const patience = setTimeout(() => begun.abort(), 10_000);
    const signal = AbortSignal.any([this.control.signal, begun.signal]);
    const response = await answered(path, { signal, accept: "*/*" }).finally(() => clearTimeout(patience));
    this.mode = "live";
    this.problem = undefined;
    this.changed();
    const reader = response.body?.getReader();
    if (reader === undefined) throw new AskError(0, "The stream has no content.");
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line !== "") this.take(JSON.parse(line) as StreamLine);
        this.draw();
      }
    } catch (error) {
      if (!this.control.signal.aborted && lostSince.get() === 0) lostSince.set(Date.now());
      throw error;
    }
  }

  private take(line: StreamLine): void {
    if (line.InstanceUUID !== undefined) this.setInstance(line.InstanceUUID);
    else if (line.gap !== undefined) this.missed += line.gap.lowest - line.gap.requested;
    else if (line.record !== undefined && line.id !== undefined) this.add(line as EventLine);
  }

  /** The numbers of records begin anew when the scheduler was started again. */
  private setInstance(instance: string): void {
    if (this.instance !== "" && this.instance !== instance) {
      this.next = -1;
      this.lines = [];
    }
    this.instance = instance;
  }

  private add(line: EventLine): void {
    if (line.id < this.next) return;
    this.next = line.id + 1;
    this.lines.push(line);
    if (this.lines.length > KEPT * 1.5) this.lines.splice(0, this.lines.length - KEPT);
  }

  private async batch(): Promise<boolean> {
    const from = this.next < 0 ? { start: "latest", count: PAST } : { start: this.next };
    const path = withQuery(api("events", "batch"), { ...this.filters, ...from, format: "v2" });
    try {
      const { value } = await ask<EventBatch>(path, { signal: this.control.signal });
      if (value === undefined) return true;
      this.setInstance(value.InstanceUUID);
      if (this.next >= 0 && value.LowestID > this.next) this.missed += value.LowestID - this.next;
      for (const line of value.EventRecords ?? []) this.add(line);
      this.mode = "every 2 s";
      this.problem = undefined;
      this.draw();
      return true;
    } catch (error) {
      this.problem = error instanceof AskError ? error : new AskError(0, String(error));
      this.changed();
      return false;
    }
  }

  private draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    setTimeout(() => {
      this.waiting = false;
      this.changed();
    }, DRAW_MS);
  }

  private changed(): void {
    if (!this.control.signal.aborted) this.version.set(this.version.get() + 1);
  }
}
