// Bands from those who lost to those who got: as wide as what was taken. The table beside it has the numbers.

import type { Picture } from "../pages/preemption_flows";

interface FlowProps {
  readonly name: string;
  readonly picture: Picture;
  readonly format: (size: number) => string;
}

const WIDTH = 300;
const BAR = 6;

export function FlowPicture({ name, picture, format }: FlowProps) {
  const said = picture.bands.map((each) => `${each.flow.from} to ${each.flow.to} ${format(each.size)}`).join(", ");
  const ends = (side: "left" | "right") =>
    picture[side].map((each) => (
      <li key={each.name} style={{ top: `${each.top}px` }} title={`${each.name}: ${format(each.size)}`}>
        {each.name.replace(/^root\./, "")} <small>{format(each.size)}</small>
      </li>
    ));
  return (
    <div class="flows" style={{ height: `${Math.ceil(picture.height)}px` }}>
      <ul class="from" aria-hidden="true">{ends("left")}</ul>
      <svg viewBox={`0 0 ${WIDTH} ${Math.ceil(picture.height)}`} preserveAspectRatio="none" role="img" aria-label={`${name}: ${said}`}>
        {picture.left.map((each) => <rect key={each.name} class="end" x={0} y={each.top} width={BAR} height={Math.max(1, each.height)} />)}
        {picture.right.map((each) => <rect key={each.name} class="end" x={WIDTH - BAR} y={each.top} width={BAR} height={Math.max(1, each.height)} />)}
        {picture.bands.map((each, index) => {
          const [a, b, half] = [each.left, each.right, WIDTH / 2];
          const down = Math.max(1, each.height);
          const path = `M${BAR} ${a}C${half} ${a} ${half} ${b} ${WIDTH - BAR} ${b}V${b + down}C${half} ${b + down} ${half} ${a + down} ${BAR} ${a + down}Z`;
          return (
            <path key={index} class={`band f${(index % 6) + 1}`} d={path}>
              <title>{`${each.flow.from} → ${each.flow.to}: ${format(each.size)}`}</title>
            </path>
          );
        })}
      </svg>
      <ul class="to" aria-hidden="true">{ends("right")}</ul>
    </div>
  );
}
