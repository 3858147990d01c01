/** Ids for what has none, or needs another: made from a seed, so that the same work done again yields the same ids. */
import { createHash } from 'node:crypto';

export function derivedId(seed: string, name: string): string {
  const bytes = createHash('sha256').update(`${seed} ${name}`).digest();
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
