/** What tells one content of one file from every other without reading it. Pure. */
import type { BigIntStats } from 'node:fs';

/** Of a file whose content no version stands for: no file has it. */
export const NO_VERSION = '';

/** The time of the last change of any kind is part of it, because whoever writes can put that of the content back. */
export function contentVersion({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [ino, size, mtimeNs, ctimeNs].map((number) => number.toString(36)).join('-');
}

/** Whether the two are of one file that nobody has written to: it may have got another name, or permissions. */
export function hasSameContent(a: string, b: string): boolean {
  return a.slice(0, a.lastIndexOf('-')) === b.slice(0, b.lastIndexOf('-'));
}
