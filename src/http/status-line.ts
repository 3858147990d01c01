/** Status codes with their phrases. */
import { STATUS_CODES } from 'node:http';

/** Of resumable uploads; no standard has it. */
const CHECKSUM_MISMATCH = '460';
const LINES = new Map(
  [...Object.entries(STATUS_CODES), [CHECKSUM_MISMATCH, 'Checksum Mismatch'] as const].map(
    ([code, phrase]) => [Number(code), `${code} ${phrase ?? ''}`],
  ),
);

export function statusLine(status: number): string {
  return LINES.get(status) ?? String(status);
}
