// A value that components follow: the few things that all pages share (address, theme, connection).

import { useEffect, useState } from "preact/hooks";

export class Cell<T> {
  private readonly followers = new Set<(value: T) => void>();

  constructor(private value: T) {}

  get(): T {
    return this.value;
  }

  /** Change the value; followers are told only if it is another one. */
  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const follower of [...this.followers]) follower(value);
  }

  /** Call a function at each change; the function that is returned ends that. */
  follow(follower: (value: T) => void): () => void {
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }
}

/** Return the value of a cell; the component is drawn again when it changes. */
export function useCell<T>(cell: Cell<T>): T {
  const [value, setValue] = useState(() => cell.get());
  useEffect(() => {
    setValue(() => cell.get());
    return cell.follow((next) => setValue(() => next));
  }, [cell]);
  return value;
}
