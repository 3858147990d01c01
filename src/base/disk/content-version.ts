/** The version of a file tells its content from any other content without reading it. Pure. */
import type { BigIntStats } from 'node:fs';

/** Stands for an unknown content; no file has this version. */
export const NO_VERSION = '';

/** It has the time of the last change of any kind, because a program can set the time of the content back. */
export function contentVersion({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [ino, size, mtimeNs, ctimeNs].map((number) => number.toString(36)).join('-');
}

/** Whether the version is one of this very file, whatever it holds now. */
export function isVersionOf(version: string, { ino }: BigIntStats): boolean {
  return version.startsWith(`${ino.toString(36)}-`);
}

/** Whether the file has not been written to between two versions; its name and its permissions may have changed. */
export function hasSameContent(a: string, b: string): boolean {
  return writtenVersion(a) === writtenVersion(b);
}

/** The part of the version that changes only when the file is written to. */
export function writtenVersion(version: string): string {
  return version.slice(0, version.lastIndexOf('-'));
}
