// A bar of what is used of a resource type, with what waits, the guarantee and the maximum.

import { amount, label, part, percent } from "../base/units";

interface MeterProps {
  readonly type: string;
  readonly used: number;
  readonly pending?: number | undefined;
  readonly guaranteed?: number | undefined;
  /** 0 or undefined: there is no maximum. */
  readonly maximum?: number | undefined;
  /** What the whole bar stands for. */
  readonly whole: number;
  /** What stands beside the bar: nothing, what is used, or the whole too. */
  readonly wide?: "used" | "whole";
}

const at = (share: number): string => `${(share * 100).toFixed(2)}%`;

export function describe({ type, used, pending, guaranteed, maximum, whole }: MeterProps): string {
  const parts = [`${label(type)}: ${amount(type, used)} used`];
  if (whole > 0) parts.push(`${percent(part(used, whole))} of ${amount(type, whole)}`);
  if (pending) parts.push(`${amount(type, pending)} waiting`);
  if (guaranteed) parts.push(`${amount(type, guaranteed)} guaranteed`);
  if (maximum) parts.push(`${amount(type, maximum)} at most`);
  return parts.join(", ");
}

export function Meter(props: MeterProps) {
  const { type, used, whole, guaranteed, maximum, pending } = props;
  const share = part(used, whole);
  const waiting = Math.min(part(pending ?? 0, whole), 1 - share);
  const over = guaranteed !== undefined && guaranteed > 0 && used > guaranteed;
  const words = describe(props);
  if (whole <= 0 && used <= 0) return <span class="faint" title={`${label(type)}: none`}>–</span>;
  return (
    <div class="meter" role="img" aria-label={words} title={words}>
      <div class="track">
        <div class={over ? "used over" : "used"} style={{ width: at(share) }} />
        {waiting > 0 && <div class="waiting" style={{ left: at(share), width: at(waiting) }} />}
        {guaranteed ? <div class="guarantee" style={{ left: at(part(guaranteed, whole)) }} /> : null}
        {maximum && maximum < whole ? <div class="maximum" style={{ left: at(part(maximum, whole)) }} /> : null}
      </div>
      {props.wide && (
        <span class={props.wide === "whole" ? "number long" : "number"}>
          {amount(type, used)}
          {props.wide === "whole" && whole > 0 && <span class="of"> / {amount(type, whole)}</span>}
        </span>
      )}
    </div>
  );
}

/** What the marks of the bars mean. */
export function MeterKey() {
  return (
    <ul class="key" aria-label="What the bars show">
      <li><span class="swatch used" /> used</li>
      <li><span class="swatch over" /> used above the guarantee</li>
      <li><span class="swatch waiting" /> waiting</li>
      <li><span class="swatch guarantee" /> guaranteed</li>
      <li><span class="swatch maximum" /> maximum</li>
    </ul>
  );
}
