/** `wirefarm restore`: makes the data folder of a server from a backup. */
import { parseArgs } from 'node:util';
import { restoreBackup } from '../operations/backup/restore.js';
import { UsageError } from './command-error.js';

const OPTIONS = { data: { type: 'string' }, help: { type: 'boolean' } } as const;

const HELP = [
  'Usage:',
  '  wirefarm restore FILE --data DIR',
  '      Checks the backup FILE, and makes the data folder DIR of it, which must have nothing yet. A backup that is cut or',
  '      altered is refused, with the place, and DIR is not made.',
  '',
].join('\n');

export async function restore(args: readonly string[]): Promise<void> {
  const { values, positionals } = parsed(args);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const [file, ...more] = positionals;
  const { data } = values;
  if (file === undefined || more.length > 0 || data === undefined)
    throw new UsageError('say which file, and --data DIR (wirefarm restore --help)');
  const { backupId, createdAt, projects, crashConsistent, leftOut } = await restoreBackup(file, data);
  const lines = [`${data} has the ${projects} projects of the backup ${backupId}, of ${createdAt}`];
  for (const node of crashConsistent)
    lines.push(`${node} ran and could not be held: its files are those of a machine that has crashed`);
  for (const { name, reason } of leftOut) lines.push(`without the project ${name}: ${reason}`);
  process.stdout.write(`${lines.join('\n')}\n`);
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new UsageError(`${line} (wirefarm restore --help)`, { cause: error });
  }
}
