// Asks the HTTP API of the scheduler that serves this page, and knows whether it answers.

import { Cell } from "./cell";
import { signInReason, token } from "./token";

/** Milliseconds for an answer to begin. */
const PATIENCE_MS = 30_000;

/** Since when the service does not answer, in milliseconds; 0: it does. */
export const lostSince = new Cell<number>(0);

export class AskError extends Error {
  /** status: of HTTP; 0: there was no answer. */
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

export interface Answer<T> {
  /** undefined: the answer is the one that the caller has already. */
  readonly value: T | undefined;
  /** Elements of the whole list, if the answer is part of one. */
  readonly total: number;
  readonly tag: string;
}

export interface AskOptions {
  readonly signal?: AbortSignal;
  readonly tag?: string;
  readonly accept?: string;
  readonly method?: string;
  readonly body?: string;
}

/** Return the address of a path of the API, whose names are encoded. */
export function api(...names: readonly string[]): string {
  return `../ws/v1/${names.map(encodeURIComponent).join("/")}`;
}

/** Add a query; empty values are left out. */
export function withQuery(path: string, query: Record<string, string | number>): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== "") search.set(key, String(value));
  const text = search.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** Send a request and return its response, whatever its status. Throws AskError without one. */
export async function request(path: string, options: AskOptions = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: options.accept ?? "application/json" };
  if (token.get() !== "") headers["Authorization"] = `Bearer ${token.get()}`;
  if (options.tag) headers["If-None-Match"] = options.tag;
  const init: RequestInit = { headers, cache: "no-store", credentials: "omit" };
  if (options.method) init.method = options.method;
  if (options.body !== undefined) init.body = options.body;
  if (options.signal) init.signal = options.signal;
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (options.signal?.aborted && !timedOut(options.signal)) throw error;
    if (lostSince.get() === 0) lostSince.set(Date.now());
    throw new AskError(0, "The scheduler does not answer.");
  }
  lostSince.set(0);
  return response;
}

function timedOut(signal: AbortSignal): boolean {
  return signal.reason instanceof DOMException && signal.reason.name === "TimeoutError";
}

/** Ask for JSON. Throws AskError with what the service says if it refuses. */
export async function ask<T>(path: string, options: AskOptions = {}): Promise<Answer<T>> {
  const response = await answered(path, options);
  const tag = response.headers.get("ETag") ?? "";
  const total = Number(response.headers.get("X-Total-Count") ?? "-1");
  if (response.status === 304) return { value: undefined, total, tag };
  try {
    return { value: (await response.json()) as T, total, tag };
  } catch (error) {
    if (options.signal?.aborted && !timedOut(options.signal)) throw error;
    throw new AskError(0, "The answer broke off.");
  }
}

/** Ask for text. Throws AskError. */
export async function askText(path: string, options: AskOptions = {}): Promise<string> {
  return (await answered(path, { accept: "*/*", ...options })).text();
}

/** Return a response that is no refusal. Throws AskError. */
export async function answered(path: string, options: AskOptions): Promise<Response> {
  const limit = AbortSignal.timeout(PATIENCE_MS);
  const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit;
  const response = await request(path, { ...options, signal });
  if (response.ok || response.status === 304) return response;
  throw await refusal(response);
}

/** Return why a request was refused, in the words of the service. */
export async function refusal(response: Response): Promise<AskError> {
  let words = `The scheduler answered ${response.status}.`;
  try {
    const body = (await response.json()) as { message?: string; description?: string };
    words = body.description || body.message || words;
  } catch {
    // What is no JSON comes from something between.
  }
  if (response.status === 401) signInReason.set(words);
  return new AskError(response.status, words);
}
