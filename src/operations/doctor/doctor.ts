/** Examines the host of a server, in threads of its own that end with the examination. */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../base/errors/errors.js';
import { TaskPool } from '../../base/threads/task-pool.js';
import type { BundleOrder } from './bundle.js';
import { examinationOf, type Diagnosis, type Examination } from './diagnosis.js';
import type { DoctorTasks } from './doctor-tasks.js';
import type { Patient } from './patient.js';

const GROUPS = ['checkFolders', 'checkKernel', 'checkNetwork', 'checkPrograms'] as const;
/** A group of checks that takes longer has found something that stands still, such as a disk. */
const LIMIT_MS = 30_000;
/** Clients that ask soon after an examination get its result: it writes to the disks. */
const FRESH_MS = 5000;

export class Doctor {
  readonly #patient: Patient;
  #examination: Promise<Examination> | undefined;

  constructor(patient: Patient) {
    this.#patient = patient;
  }

  /** Clients that ask meanwhile share one examination. Never rejects. */
  examine(): Promise<Examination> {
    this.#examination ??= this.#examine().finally(() => {
      setTimeout(() => (this.#examination = undefined), FRESH_MS).unref();
    });
    return this.#examination;
  }

  /** Packs a bundle; returns what it is without. Rejects when it cannot be written. */
  async pack(order: BundleOrder): Promise<readonly string[]> {
    const threads = newThreads(1);
    try {
      return await threads.run('packBundle', order);
    } finally {
      await threads.close();
    }
  }

  async #examine(): Promise<Examination> {
    // The second thread is there for when the first one waits for a disk.
    const threads = newThreads(2);
    const checked = await Promise.all(GROUPS.map((group) => this.#check(threads, group)));
    void threads.close();
    return examinationOf(checked.flat());
  }

  async #check(
    threads: TaskPool<DoctorTasks>,
    group: (typeof GROUPS)[number],
  ): Promise<readonly Diagnosis[]> {
    const id = `doctor.${group.replace('check', '').toLowerCase()}`;
    const late: Diagnosis[] = [
      {
        id,
        level: 'failure',
        found: `the checks of this group have not ended after ${LIMIT_MS / 1000} s`,
        means: 'a disk or a program stands still',
        repair: 'dmesg | tail -50',
      },
    ];
    const waiting = new AbortController();
    try {
      return await Promise.race([
        threads.run(group, this.#patient),
        sleep(LIMIT_MS, late, { signal: waiting.signal, ref: false }),
      ]);
    } catch (error) {
      return [{ id, level: 'failure', found: `the checks of this group failed: ${messageOf(error)}` }];
    } finally {
      waiting.abort();
    }
  }
}

function newThreads(threads: number): TaskPool<DoctorTasks> {
  const worker = new URL('../../../workers/doctor-worker.js', import.meta.url);
  return new TaskPool<DoctorTasks>({ worker, threads, readyThreads: 0, queueLimit: GROUPS.length });
}
