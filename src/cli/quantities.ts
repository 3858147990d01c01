/** Amounts, rates and durations as text for people. */

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];
/** More digits would only change too fast to be read. */
const DIGITS = 3;

/** In powers of ten, like the sizes of disks and networks. */
export function amount(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // A value that would be rounded up to 1000 belongs to the next unit.
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const text = unit === 0 ? value.toFixed(0) : value.toPrecision(DIGITS);
  return `${text} ${UNITS[unit] ?? ''}`;
}

export function rate(bytesPerSecond: number): string {
  return `${amount(bytesPerSecond)}/s`;
}

/** `0:07`, `12:40`, `3:00:12`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours === 0 ? `${minutes}:${two(whole % 60)}` : `${hours}:${two(minutes)}:${two(whole % 60)}`;
}
