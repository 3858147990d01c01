/** Which capture files are to go: by their age, and by what all of them together may take. */

export interface RetainedFile {
  readonly name: string;
  readonly size: number;
  readonly modifiedMs: number;
  /** Being written: it stays, whatever it takes. */
  readonly isRunning: boolean;
}

export interface RetentionLimits {
  readonly olderThanMs?: number | undefined;
  /** Running captures count, too. */
  readonly keepBytes?: number | undefined;
}

/** Those that are too old, and then the oldest until the rest is small enough. */
export function expired<File extends RetainedFile>(
  files: readonly File[],
  { olderThanMs = Infinity, keepBytes = Infinity }: RetentionLimits,
  now: number,
): File[] {
  const finished = files.filter((file) => !file.isRunning).sort(byAge);
  let left = files.reduce((sum, { size }) => sum + size, 0);
  return finished.filter(({ size, modifiedMs }) => {
    const goes = now - modifiedMs > olderThanMs || left > keepBytes;
    if (goes) left -= size;
    return goes;
  });
}

function byAge(a: RetainedFile, b: RetainedFile): number {
  return a.modifiedMs - b.modifiedMs || (a.name < b.name ? -1 : 1);
}
