/** Programs of the system that Wirefarm is measured against, by a shell that says what they have used. */
import { existsSync } from 'node:fs';
import { command, syncFileSystem } from '../files/command.js';
import { MEBI } from '../files/random-file.js';
import { usageIn } from './process-usage.js';
import type { Turn } from './turn.js';

const REPORT = 'cat /proc/$$/io && echo ---- && cat /proc/$$/stat';

/** Does not measure writes that wait for the disk from the turn before. The arguments are $1, $2 and so on. */
export async function measuredCommand(script: string, args: readonly string[], disk: string): Promise<Turn> {
  await syncFileSystem(disk);
  const start = performance.now();
  const told = await command('sh', ['-c', `set -e\n${script}\n${REPORT}`, 'sh', ...args]);
  const seconds = (performance.now() - start) / 1000;
  const [io = '', stat = ''] = told.split('----\n');
  const { cpuSeconds, writtenOctets } = usageIn(io, stat);
  return { seconds, cpuSeconds, writtenMiB: writtenOctets / MEBI };
}

/** Says it when it is not. */
export function isInstalled(program: string): boolean {
  if (existsSync(`/usr/bin/${program}`)) return true;
  process.stderr.write(
    `${program} is not installed (Debian package ${program}): this is measured without it\n`,
  );
  return false;
}
