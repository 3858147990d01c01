/** `wirefarm audit verify`: whether the audit is as the server wrote it. It needs no server. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { auditPaths, lengthOf, tipsInLogs, verifyAudit } from '../operations/audit-verification.js';
import { CommandError, UsageError } from './command-error.js';
import { progressBar } from './progress-bar.js';
import type { Environment } from './server-address.js';

const OPTIONS = {
  data: { type: 'string' },
  help: { type: 'boolean' },
  log: { type: 'string', multiple: true },
  quiet: { type: 'boolean' },
} as const;

const HELP = [
  'Usage:',
  '  wirefarm audit verify (--data DIR | FILE...) [--log FILE]... [--quiet]',
  '      Finds lines of the audit that were removed, changed or moved, and with the log of the server also a file whose end',
  '      was cut off, or that was written anew. DIR is the data folder (WIREFARM_DATA).',
  '',
  'Ends with 0 when the audit is whole, and with 1 when it is not.',
  '',
].join('\n');

const MOST_SHOWN = 50;

/** Returns the exit code. */
export async function audit(args: readonly string[], environment: Environment): Promise<number> {
  const { values, positionals } = parsed(args);
  if (values.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  const [action, ...files] = positionals;
  if (action !== 'verify') throw wrong('say what to do');
  const paths = files.length > 0 ? files : filesIn(values.data ?? environment['WIREFARM_DATA'] ?? '');
  let shown = 0;
  const tips = await tipsInLogs(values.log ?? []);
  const bar = progressBar(values.quiet === true);
  const tell = (fault: string): void => {
    bar.clear();
    if (shown++ < MOST_SHOWN) process.stdout.write(`${fault}\n`);
  };
  bar.begin('audit', lengthOf(paths));
  const { lines, range, faults } = await verifyAudit(paths, tips, tell, (bytes) => {
    bar.moved(bytes);
  });
  bar.clear();
  if (faults > MOST_SHOWN) process.stdout.write(`and ${faults - MOST_SHOWN} more\n`);
  const verdict = faults === 0 ? 'whole' : `${faults} ${faults === 1 ? 'fault' : 'faults'}`;
  process.stdout.write(`${lines} lines of the audit, ${range}: ${verdict}\n`);
  return faults === 0 ? 0 : 1;
}

function filesIn(data: string): readonly string[] {
  if (data === '') throw wrong('say --data, or the files');
  const paths = auditPaths(resolve(data));
  if (paths.length === 0) throw new CommandError(`there is no audit in ${data}`);
  return paths;
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw wrong(line, { cause: error });
  }
}

function wrong(reason: string, options?: ErrorOptions): UsageError {
  return new UsageError(`${reason} (wirefarm audit --help)`, options);
}
