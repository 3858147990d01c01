import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import t from 'tap';
import { captureFileTasks, type CaptureFileTasks } from '../../../src/captures/files/capture-file-tasks.js';
import { CaptureLibrary } from '../../../src/captures/files/capture-library.js';
import { CaptureRetention } from '../../../src/captures/files/capture-retention.js';
import type { TaskRunner } from '../../../src/base/threads/task-pool.js';
import { CAPTURES } from '../../../src/lab/projects/folder-layout.js';
import type { Project } from '../../../src/lab/projects/project.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';

const DAY_MS = 86_400_000;
const LOG = pino({ level: 'silent' });

/** The tasks of this module, in this thread. */
const files = {
  run: (task: keyof typeof captureFileTasks, input: never) =>
    Promise.resolve().then(() => (captureFileTasks[task] as (input: never) => unknown)(input)),
} as unknown as TaskRunner<CaptureFileTasks>;

/** A project with a capture for each age in days. */
function projectOf(t: Teardown, id: string, ages: readonly number[]): Project {
  const folder = scratchFolder(t);
  mkdirSync(join(folder, CAPTURES), { recursive: true });
  for (const age of ages) {
    const path = join(folder, CAPTURES, `${age}.pcap`);
    writeFileSync(path, 'capture');
    const time = new Date(Date.now() - age * DAY_MS);
    utimesSync(path, time, time);
  }
  return { id, place: { folder, filename: '' } } as unknown as Project;
}

const left = (project: Project): string[] => readdirSync(join(project.place.folder, CAPTURES)).sort();

void t.test('finished captures that are too old go, in every project; running ones stay', async (t) => {
  const [one, two] = [projectOf(t, 'one', [1, 3, 9]), projectOf(t, 'two', [0, 30])];
  const broken = { id: 'broken', place: { folder: '/nowhere', filename: '' } } as unknown as Project;
  const running = { name: '9.pcap', linkId: 'link', packets: 0, wholeBytes: 0, firstAt: null, lastAt: null };
  const captures = new CaptureLibrary(files, (id) => (id === 'one' ? [running] : []));
  const all = new Map([broken, one, two].map((project) => [project.id, project]));
  await new CaptureRetention(captures, { all }, () => 2, LOG).clean();
  t.same(left(one), ['1.pcap', '9.pcap']);
  t.same(left(two), ['0.pcap']);
});
