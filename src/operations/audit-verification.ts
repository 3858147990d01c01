/** Reads the files of the audit, and logs of its server, from the first line to the last. */
import { createReadStream } from 'node:fs';
import { basename, join } from 'node:path';
import type { AuditTip } from '../lab/audit/audit-entry.js';
import { auditFiles } from '../lab/audit/audit-tasks.js';
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

/** Holds the files against themselves and the logs. Tells each fault as it is found. */
export async function verifyAudit(
  paths: readonly string[],
  logs: readonly string[],
  tell: (fault: string) => void,
): Promise<Verdict> {
  const tips: AuditTip[] = [];
  for (const path of logs) {
    for await (const line of linesOf(path)) tips.push(...tipsIn(line));
  }
  const chain = new AuditChain(tips);
  let faults = 0;
  const tellAll = (found: readonly string[]): void => {
    faults += found.length;
    found.forEach(tell);
  };
  for (const path of paths) {
    let row = 0;
    for await (const line of linesOf(path)) tellAll(chain.next(line, `${basename(path)}:${++row}`));
  }
  tellAll(chain.end());
  return { lines: chain.count, range: chain.range, faults };
}

function tipsIn(line: string): AuditTip[] {
  const tip = toldTip(line);
  return tip === undefined ? [] : [tip];
}

/** The whole lines of a file. The last one may be on its way to the disk just now. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const bytes of createReadStream(path)) {
    rest = Buffer.concat([rest, bytes as Buffer]);
    const end = rest.lastIndexOf(NEWLINE);
    if (end < 0 && rest.length < LONGEST_LINE) continue;
    const lines = rest.toString('utf8', 0, end < 0 ? rest.length : end);
    rest = end < 0 ? Buffer.alloc(0) : rest.subarray(end + 1);
    yield* lines.split('\n');
  }
}
