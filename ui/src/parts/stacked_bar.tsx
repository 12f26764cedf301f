// A bar of pieces, one for each user of a whole; the names of the largest stand below it.

import { part, percent } from "../base/units";

export interface Piece {
  readonly name: string;
  readonly value: number;
}

interface StackedProps {
  readonly name: string;
  readonly whole: number;
  readonly pieces: readonly Piece[];
  readonly format: (value: number) => string;
}

const NAMED = 6;

export function StackedBar({ name, whole, pieces, format }: StackedProps) {
  const sum = pieces.reduce((all, each) => all + each.value, 0);
  return (
    <div class="stacked">
      <div class="track" role="img" aria-label={`${name}: ${format(sum)} of ${format(whole)} used`}>
        {pieces.map((each, index) => (
          <div
            key={each.name}
            class={`piece p${index % NAMED}`}
            style={{ width: `${(part(each.value, Math.max(whole, sum)) * 100).toFixed(3)}%` }}
            title={`${each.name}: ${format(each.value)}`}
          />
        ))}
      </div>
      <p class="faint">
        {format(sum)} of {format(whole)} ({percent(part(sum, whole))})
        {pieces.slice(0, NAMED).map((each, index) => (
          <span key={each.name}> <span class={`swatch p${index}`} /> {each.name} {format(each.value)}</span>
        ))}
        {pieces.length > NAMED && <> and {pieces.length - NAMED} more</>}
      </p>
    </div>
  );
}
