// What the reader of the pages has chosen; kept in the browser, so it is there the next time.

import { Cell } from "./cell";

function stored(key: string, usual: string, known: readonly string[]): Cell<string> {
  let first = usual;
  try {
    const kept = localStorage.getItem(`remuda.${key}`);
    if (kept !== null && known.includes(kept)) first = kept;
  } catch {
    // Storage may be forbidden.
  }
  const cell = new Cell<string>(first);
  cell.follow((value) => {
    try {
      localStorage.setItem(`remuda.${key}`, value);
    } catch {
      // Then the choice lasts as long as the page.
    }
  });
  return cell;
}

export const THEMES = ["system", "light", "dark"] as const;
export const theme = stored("theme", "system", THEMES);

export const ZONES = ["local", "utc"] as const;
export const zone = stored("zone", "local", ZONES);

export const REFRESHES = ["2", "5", "30", "0"] as const;
export const refresh = stored("refresh", "5", REFRESHES);

/** Seconds between two questions; 0: pages are not refreshed. */
export const refreshSeconds = new Cell<number>(Number(refresh.get()));
refresh.follow((value) => refreshSeconds.set(Number(value)));

/** Set the theme of the page, now and at each change. */
export function followTheme(): void {
  const set = (value: string): void => {
    if (value === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = value;
  };
  theme.follow(set);
  set(theme.get());
}
