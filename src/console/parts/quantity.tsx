/** Numbers with units, and times. */
import type { JSX } from 'preact';
import { TEXTS } from '../texts.js';

const KIBI = 1024;
const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const THOUSAND = 1000;
const RATE_UNITS = ['', ' k', ' M', ' G'];
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Smaller numbers have a digit after the point. */
const SHORT = 10;

function scaled(value: number, step: number, units: readonly string[]): string {
  let unit = 0;
  let left = value;
  while (left >= step && unit < units.length - 1) {
    left /= step;
    unit++;
  }
  const digits = left < SHORT && unit > 0 ? 1 : 0;
  return `${left.toFixed(digits)}${units[unit] ?? ''}`;
}

export const bytesText = (bytes: number): string =>
  scaled(
    bytes,
    KIBI,
    BYTE_UNITS.map((unit) => ` ${unit}`),
  );

/** A count a second. */
export const rateText = (rate: number): string => `${scaled(rate, THOUSAND, RATE_UNITS)}/s`;

export const countText = (count: number): string => count.toLocaleString('en');

export const percentText = (share: number): string => `${Math.round(share * 100)} %`;

export function spanText(seconds: number): string {
  const { times } = TEXTS;
  if (seconds < MINUTE) return times.seconds(Math.max(0, Math.floor(seconds)));
  if (seconds < HOUR) return times.minutes(Math.floor(seconds / MINUTE));
  if (seconds < 2 * DAY) return times.hours(Math.floor(seconds / HOUR));
  return times.days(Math.floor(seconds / DAY));
}

/** A time of the server: how long ago it was, and when exactly. */
export function Moment({ time }: { readonly time: string }): JSX.Element {
  const seconds = (Date.now() - Date.parse(time)) / THOUSAND;
  return (
    <time dateTime={time} title={new Date(time).toLocaleString()}>
      {TEXTS.times.ago(spanText(seconds))}
    </time>
  );
}

/** A time of the server that is to come: in how long, and when exactly. */
export function Ahead({ time }: { readonly time: string }): JSX.Element {
  const seconds = (Date.parse(time) - Date.now()) / THOUSAND;
  return (
    <time dateTime={time} title={new Date(time).toLocaleString()}>
      {spanText(seconds)}
    </time>
  );
}

interface MeterProps {
  readonly label: string;
  readonly share: number;
  readonly text: string;
}

/** A bar that says its number, too. */
export function Meter({ label, share, text }: MeterProps): JSX.Element {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 100);
  return (
    <div class="meter">
      <span>{label}</span>
      <progress aria-label={label} max={100} value={percent} />
      <span class="number">{text}</span>
    </div>
  );
}
