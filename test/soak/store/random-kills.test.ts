/** Processes that commit, killed at random moments: what each acknowledged is there, and at most one commit more. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { JournalStore } from '../../../src/base/store/journal-store.js';
import { Random, testSeed } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import { digestOf, StoreModel } from '../../support/store-model.js';

const KILLS = 60;

void t.test(`${KILLS} kills at random moments`, async (t) => {
  const random = new Random(testSeed(81));
  const folder = scratchFolder(t);
  const program = join(scratchFolder(t), 'writer.mjs');
  const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
  writeFileSync(
    program,
    `
    const { JournalStore } = await import(${url('../../../src/base/store/journal-store.js')});
    const { StoreModel } = await import(${url('../../support/store-model.js')});
    const { Random } = await import(${url('../../support/random.js')});
    const random = new Random(Number(process.argv[2]));
    const store = new JournalStore(${JSON.stringify(folder)});
    const model = new StoreModel();
    for (let number = 1; ; number++) {
      store.commit(model.changes(random, 200_000));
      process.stdout.write(number + '\\n');
    }`,
  );
  let model = new StoreModel();
  for (let kill = 0; kill < KILLS; kill++) {
    const seed = random.below(1e9);
    const acknowledged = await runUntil(program, seed, 1 + random.below(80), random.below(5));
    // The same changes again: all that were acknowledged, and perhaps those that nobody was told of.
    const again = new Random(seed);
    for (let number = 0; number < acknowledged; number++) model.apply(model.changes(again, 200_000));
    const store = new JournalStore(folder);
    const found = digestOf(store.load([]));
    let isKnown = found === model.digest;
    // The pipe may hold back what was acknowledged just before the end.
    for (let more = 0; more < 50 && !isKnown; more++) {
      model = model.after(model.changes(again, 200_000));
      isKnown = found === model.digest;
    }
    t.ok(isKnown, `kill ${kill}`);
    store.close();
  }
});

/** Kills the process some time after it has acknowledged so many commits; returns how many it did. */
async function runUntil(program: string, seed: number, commits: number, patience: number): Promise<number> {
  const child = spawn(process.execPath, [program, String(seed)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  let last = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    last = Number(line);
    if (last === commits) setTimeout(() => child.kill('SIGKILL'), patience);
  });
  await closed;
  if (last < commits) throw new Error(`the process ended by itself after ${last}`);
  return last;
}
