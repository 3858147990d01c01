import t from 'tap';
import { UploadTurns } from '../../../src/files/uploads/upload-turns.js';

void t.test('one after the other, and a newcomer is told of to whoever is at it', async (t) => {
  const turns = new UploadTurns();
  const done: string[] = [];
  const first = turns.take(async (overtaken) => {
    t.notOk(overtaken.aborted);
    await new Promise((resolve) => {
      overtaken.addEventListener('abort', resolve);
    });
    t.match(overtaken.reason, { status: 409 });
    done.push('first');
    throw new Error('given up');
  });
  await Promise.resolve();
  const second = turns.take((overtaken) => {
    done.push(overtaken.aborted ? 'second, late' : 'second');
    return Promise.resolve();
  });
  const third = turns.take((overtaken) => {
    done.push(overtaken.aborted ? 'third, late' : 'third');
    return Promise.resolve(3);
  });
  await t.rejects(first, { message: 'given up' });
  await second;
  t.equal(await third, 3);
  t.same(done, ['first', 'second, late', 'third']);
});

void t.test('not too many wait', async (t) => {
  const turns = new UploadTurns();
  const all = Array.from({ length: 101 }, () => turns.take(() => Promise.resolve()));
  const outcomes = await Promise.allSettled(all);
  t.same(
    outcomes.map(({ status }) => status),
    [...Array.from({ length: 100 }, () => 'fulfilled'), 'rejected'],
  );
  await turns.take(() => Promise.resolve());
});
