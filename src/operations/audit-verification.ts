/** Reads the files of the audit, and logs of its server, from the first line to the last. */
import { createReadStream, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { TaskTable } from '../base/threads/task.js';
import type { AuditTip } from '../lab/audit/audit-entry.js';
import { auditFiles } from '../lab/audit/audit-tasks.js';
import { JobProgress } from '../snapshots/content/job-progress.js';
import { AuditChain, toldTip } from './audit-chain.js';

const NEWLINE = 0x0a;
const LONGEST_LINE = 1024 * 1024;

interface Verdict {
  readonly lines: number;
  /** The numbers of the first and the last line. */
  readonly range: string;
  readonly faults: number;
}

/** The paths of the files of the audit below a data folder, oldest first. */
export function auditPaths(data: string): readonly string[] {
  const folder = join(data, 'audit');
  return auditFiles(folder).map((name) => join(folder, name));
}

/** The length of all files. */
export function lengthOf(paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
}

/** The tips that logs of the server were told. */
export async function tipsInLogs(logs: readonly string[]): Promise<AuditTip[]> {
  const tips: AuditTip[] = [];
  for (const path of logs) {
    for await (const line of linesOf(path)) tips.push(...tipsIn(line));
  }
  return tips;
}

/** Holds the files against themselves and the tips. Tells each fault as it is found, and how many bytes it has read. */
export async function verifyAudit(
  paths: readonly string[],
  tips: readonly AuditTip[],
  tell: (fault: string) => void,
  onRead: (bytes: number) => void,
): Promise<Verdict> {
  const chain = new AuditChain(tips);
  let faults = 0;
  const tellAll = (found: readonly string[]): void => {
    faults += found.length;
    found.forEach(tell);
  };
  for (const path of paths) {
    let row = 0;
    for await (const line of linesOf(path, onRead)) tellAll(chain.next(line, `${basename(path)}:${++row}`));
  }
  tellAll(chain.end());
  return { lines: chain.count, range: chain.range, faults };
}

const MOST_TOLD = 50;

/** The verdict with the first faults, for clients. */
type AuditVerdict = Verdict & { readonly first: readonly string[] };

/** Tasks for a job thread: the audit of 90 days may be long. */
export interface AuditCheckTasks extends TaskTable {
  readonly checkAudit: (input: {
    /** The data folder. */
    readonly data: string;
    readonly tips: readonly AuditTip[];
    readonly progress: SharedArrayBuffer;
  }) => Promise<AuditVerdict>;
}

export const auditCheckTasks: AuditCheckTasks = {
  async checkAudit({ data, tips, progress }) {
    const first: string[] = [];
    const tell = (fault: string): void => {
      if (first.length < MOST_TOLD) first.push(fault);
    };
    const paths = auditPaths(data);
    const counted = new JobProgress(progress);
    counted.expect(lengthOf(paths));
    const verdict = await verifyAudit(paths, tips, tell, (bytes) => {
      counted.advance(bytes);
    });
    return { ...verdict, first };
  },
};

function tipsIn(line: string): AuditTip[] {
  const tip = toldTip(line);
  return tip === undefined ? [] : [tip];
}

/** The whole lines of a file. The last one may be on its way to the disk just now. */
async function* linesOf(path: string, onRead?: (bytes: number) => void): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const bytes of createReadStream(path)) {
    onRead?.((bytes as Buffer).length);
    rest = Buffer.concat([rest, bytes as Buffer]);
    const end = rest.lastIndexOf(NEWLINE);
    if (end < 0 && rest.length < LONGEST_LINE) continue;
    const lines = rest.toString('utf8', 0, end < 0 ? rest.length : end);
    rest = end < 0 ? Buffer.alloc(0) : rest.subarray(end + 1);
    yield* lines.split('\n');
  }
}
