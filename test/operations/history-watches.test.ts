/** The looks that tell the history of losses and of full disks. */
import t from 'tap';
import { COUNTER, ROW_LENGTH, type CounterName } from '../../src/base/memory/port-counters.js';
import type { HistoryEvent } from '../../src/lab/history-event.js';
import { DiskWatch } from '../../src/operations/history/disk-watch.js';
import { DropWatch } from '../../src/operations/history/drop-watch.js';

interface ToldEvent extends HistoryEvent {
  readonly projectId: string | undefined;
}

function sumsOf(counts: Partial<Record<CounterName, number>>): Float64Array {
  const sums = new Float64Array(ROW_LENGTH);
  for (const [name, count] of Object.entries(counts)) sums[COUNTER[name as CounterName]] = count;
  return sums;
}

void t.test('losses begin with the first frame and end after calm looks, each cause by itself', async (t) => {
  const told: ToldEvent[] = [];
  let labs = [{ lab: 'a', sums: sumsOf({ queue_full: 3, filter_loss: 9, suspended: 2 }) }];
  const watch = new DropWatch({
    labs: () => labs,
    remember: (projectId, event) => told.push({ projectId, ...event }),
  });
  const takeTold = (): unknown[] =>
    told.splice(0).map(({ projectId, kind, message }) => [projectId, kind, message]);
  await watch.look();
  t.same(takeTold(), [['a', 'drops_began', 'Frames are lost: queue_full']], 'what filters drop is no loss');
  labs = [{ lab: 'a', sums: sumsOf({ queue_full: 5, malformed: 1 }) }];
  await watch.look();
  t.same(takeTold(), [['a', 'drops_began', 'Frames are lost: malformed']]);
  for (let look = 0; look < 5; look++) await watch.look();
  t.same(takeTold(), []);
  // The ports of the project were counted from zero.
  labs = [{ lab: 'a', sums: sumsOf({ malformed: 0 }) }];
  await watch.look();
  t.same(takeTold(), [
    ['a', 'drops_ended', 'No frame is lost any more: malformed, 1 were'],
    ['a', 'drops_ended', 'No frame is lost any more: queue_full, 5 were'],
  ]);
});

void t.test('a disk is full once, until it has room again', (t) => {
  const told: string[] = [];
  const watch = new DiskWatch((_, { message }) => told.push(message));
  for (const free of [500, 9, 5, 15, 9, 20, 9])
    watch.look([{ part: 'images', size: 1000, free, inodesFree: 1 }]);
  t.same(told, [
    'The disk of images is full',
    'The disk of images has room again',
    'The disk of images is full',
  ]);
  t.end();
});
