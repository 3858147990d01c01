/** Status codes with their phrases. */
import { STATUS_CODES } from 'node:http';

const LINES = new Map(
  Object.entries(STATUS_CODES).map(([code, phrase]) => [Number(code), `${code} ${phrase ?? ''}`]),
);

export function statusLine(status: number): string {
  return LINES.get(status) ?? String(status);
}
