/**
 * Loaded into a server before everything else: SIGUSR2 ends the threads of its engines. While the file that the variable
 * names is there, new ones end at once, too.
 */
import { existsSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import threads, { isMainThread, type WorkerOptions } from 'node:worker_threads';

/** The variable that names the file. */
export const NO_ENGINES = 'WIREFARM_TEST_NO_ENGINES';

/** The environment of a server whose engines can be killed. */
export function withEngineKiller(file: string): Record<string, string> {
  return { NODE_OPTIONS: `--import=${import.meta.url}`, [NO_ENGINES]: file };
}

function watchEngines(file: string): void {
  const { Worker } = threads;
  const engines = new Set<InstanceType<typeof Worker>>();
  threads.Worker = class extends Worker {
    constructor(filename: string | URL, options?: WorkerOptions) {
      super(filename, options);
      if (!String(filename).includes('engine-worker')) return;
      engines.add(this);
      this.once('exit', () => engines.delete(this));
      if (existsSync(file)) void this.terminate();
    }
  };
  syncBuiltinESMExports();
  process.on('SIGUSR2', () => {
    for (const engine of engines) void engine.terminate();
  });
}

const file = process.env[NO_ENGINES];
if (isMainThread && file !== undefined) watchEngines(file);
