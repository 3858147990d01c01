/**
 * A process that works on the content store of a project, and keeps a copy of all there is before each of its file
 * operations: what the disk would have been if the server had been killed there. It prints what those operations were.
 */
import { cpSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { isContentJob, type ContentJob } from './content-jobs.js';

const OPERATIONS = [
  'openSync',
  'closeSync',
  'writeSync',
  'writeFileSync',
  'fsyncSync',
  'renameSync',
  'linkSync',
  'symlinkSync',
  'unlinkSync',
  'rmSync',
  'mkdirSync',
  'chmodSync',
  'fchmodSync',
  'ftruncateSync',
  'lutimesSync',
  'copyFileSync',
] as const;

type Operation = (...input: unknown[]) => unknown;

const [, , scratch = '', states = '', job = '', ...ids] = process.argv;
let count = 0;
let isCounting = false;
const told: string[] = [];

function keepState(): void {
  isCounting = false;
  const copy = { recursive: true, preserveTimestamps: true, verbatimSymlinks: true };
  cpSync(scratch, join(states, String(++count)), copy);
  isCounting = true;
}

/** Relative to the folder; of an operation with two, the one that there is afterwards. */
function pathOf([first, second]: readonly unknown[]): string {
  const path =
    typeof first === 'number' ? pathOfDescriptor(first) : typeof second === 'string' ? second : first;
  return String(path).replace(`${scratch}/`, '');
}

function pathOfDescriptor(fd: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}

const files = createRequire(import.meta.url)('node:fs') as Record<string, Operation>;
for (const name of OPERATIONS) {
  const operation = files[name];
  if (operation === undefined) throw new Error(`there is no ${name}`);
  files[name] = (...input) => {
    if (isCounting) {
      keepState();
      told.push(`${name} ${pathOf(input)}`);
    }
    return operation(...input);
  };
}
syncBuiltinESMExports();

const { ContentRig } = await import('./content-rig.js');
const { contentJobs } = await import('./content-jobs.js');
if (!isContentJob(job)) throw new Error(`there is no job ${job}`);
const act: ContentJob = contentJobs[job];
const rig = new ContentRig(scratch);
isCounting = true;
act(rig, ids);
keepState();
process.stdout.write(JSON.stringify(told));
