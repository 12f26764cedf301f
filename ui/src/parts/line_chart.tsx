// Lines over time, drawn as SVG; the words of the figure say what the last values are.

import { useRef, useState } from "preact/hooks";
import { clockTime } from "../base/times";

export interface Line {
  readonly name: string;
  /** One of the colours of the style sheet, 1 to 6. */
  readonly colour: number;
  readonly values: readonly number[];
}

interface ChartProps {
  readonly title: string;
  /** Milliseconds, one for each value. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** The highest value of the scale; undefined: the highest that there is. */
  readonly top?: number;
}

const WIDTH = 600;
const HEIGHT = 120;
const LEFT = 0;
const BOTTOM = 18;

/** Return a round number that is not below another one, for the top of a scale. */
export function roundTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((each) => each * power >= value) ?? 10) * power;
}

/** Return the path of a line; times must rise. */
export function path(times: readonly number[], values: readonly number[], top: number): string {
  const first = times[0] ?? 0;
  const span = Math.max(1, (times[times.length - 1] ?? 0) - first);
  const points = times.map((time, index) => {
    const x = LEFT + ((time - first) / span) * (WIDTH - LEFT);
    const y = (1 - Math.min(values[index] ?? 0, top) / top) * (HEIGHT - BOTTOM - 4) + 4;
    return `${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  return points.length === 0 ? "" : `M${points.join("L")}`;
}

export function LineChart({ title, times, lines, format, ...rest }: ChartProps) {
  const figure = useRef<SVGSVGElement>(null);
  const [at, setAt] = useState<number>();
  const top = rest.top ?? roundTop(Math.max(0, ...lines.flatMap((each) => each.values)));
  const index = at === undefined || at >= times.length ? times.length - 1 : at;
  const moved = (event: PointerEvent): void => {
    const frame = figure.current?.getBoundingClientRect();
    if (!frame) return;
    const share = ((event.clientX - frame.left) / frame.width - LEFT / WIDTH) / (1 - LEFT / WIDTH);
    setAt(nearest(times, share));
  };
  const said = lines.map((each) => `${each.name} ${format(each.values[index] ?? 0)}`).join(", ");
  return (
    <figure class="chart">
      <svg
        ref={figure}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${said}`}
        onPointerMove={moved}
        onPointerLeave={() => setAt(undefined)}
      >
        {[0, 0.5, 1].map((share) => {
          const y = (1 - share) * (HEIGHT - BOTTOM - 4) + 4;
          return <line key={share} class="rule" x1={LEFT} x2={WIDTH} y1={y} y2={y} />;
        })}
        {lines.map((each) => (
          <path key={each.name} class={`line c${each.colour}`} d={path(times, each.values, top)} />
        ))}
        {at !== undefined && times.length > 1 && <Cursor times={times} index={index} />}
      </svg>
      <div class="scale" aria-hidden="true">
        <span>{format(top)}</span>
        <span>{format(top / 2)}</span>
        <span>{format(0)}</span>
      </div>
      <div class="span" aria-hidden="true">
        <span>{times.length > 0 ? clockTime(times[0] ?? 0) : ""}</span>
        <span>{times.length > 0 ? clockTime(times[index] ?? 0) : ""}</span>
      </div>
      <figcaption>
        {lines.map((each) => (
          <span key={each.name}>
            <span class={`swatch c${each.colour}`} /> {each.name}{" "}
            <b>{format(each.values[index] ?? 0)}</b>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function nearest(times: readonly number[], share: number): number {
  const first = times[0] ?? 0;
  const wanted = first + share * ((times[times.length - 1] ?? 0) - first);
  let best = 0;
  times.forEach((time, index) => {
    if (Math.abs(time - wanted) < Math.abs((times[best] ?? 0) - wanted)) best = index;
  });
  return best;
}

function Cursor({ times, index }: { readonly times: readonly number[]; readonly index: number }) {
  const first = times[0] ?? 0;
  const span = Math.max(1, (times[times.length - 1] ?? 0) - first);
  const x = LEFT + (((times[index] ?? 0) - first) / span) * (WIDTH - LEFT);
  return <line class="cursor" x1={x} x2={x} y1={0} y2={HEIGHT - BOTTOM} />;
}
