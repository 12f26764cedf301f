// The token of the caller. It is kept in this tab only, and is gone when the tab is closed.

import { Cell } from "./cell";

const KEY = "remuda.token";

function stored(): string {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

export const token = new Cell<string>(stored());

/** Why the service wants a token, or another one; empty: it does not. */
export const signInReason = new Cell<string>("");

/** Whether a header can carry a text as a token; others come from a slip when it was copied. */
export function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** Use a token from now on; an empty one is forgotten. */
export function useToken(text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, text);
  } catch {
    // Storage may be forbidden; then the token lasts as long as the page.
  }
  token.set(text);
  signInReason.set("");
}
