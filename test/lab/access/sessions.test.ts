import { mock } from 'node:test';
import t from 'tap';
import { Passwords } from '../../../src/lab/access/passwords.js';
import { Sessions } from '../../../src/lab/access/sessions.js';
import { Users } from '../../../src/lab/access/users.js';
import { FakeStore } from '../../support/fake-store.js';

const HOUR_MS = 3600 * 1000;
const passwords = new Passwords({ threads: { run: () => Promise.resolve('a hash' as never) }, atOnce: 1 });

void t.test('sessions', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => {
    mock.timers.reset();
  });
  let day = Date.parse('2026-11-23T00:00:00Z');
  const now = (): number => day;
  const store = new FakeStore();
  const users = new Users({ store, passwords, hasBuiltInAdmin: false, now });
  const sessions = new Sessions({ store, users, now });
  const user = await users.create({ name: 'ann', role: 'admin', password: 'any' });
  const started = async (): Promise<Sessions> => {
    const others = new Users({ store, passwords, hasBuiltInAdmin: false, now });
    const again = new Sessions({ store, users: others, now });
    await others.start();
    await again.start();
    return again;
  };

  await t.test('end twelve hours after their last use', async (t) => {
    const { id, secret } = await sessions.begin(user);
    for (let hours = 0; hours < 30; hours += 10) {
      day += 10 * HOUR_MS;
      t.equal(sessions.use(secret)?.user, user);
    }
    t.equal(sessions.endOf(id), day + 12 * HOUR_MS);
    day += 12 * HOUR_MS;
    t.equal(sessions.use(secret), undefined);
    t.equal(sessions.endOf(id), undefined);
  });

  await t.test('have their uses written together, and last as long after a start', async (t) => {
    const begun = await Promise.all([sessions.begin(user), sessions.begin(user)]);
    mock.timers.tick(5 * 60 * 1000);
    await new Promise(setImmediate);
    day += HOUR_MS;
    const before = store.commits.length;
    for (let use = 0; use < 1000; use++) for (const { secret } of begun) sessions.use(secret);
    mock.timers.tick(5 * 60 * 1000 - 1);
    t.equal(store.commits.length, before);
    mock.timers.tick(1);
    await new Promise(setImmediate);
    t.equal(store.commits.length, before + 1);
    t.equal(store.commits[before]?.length, 2);
    const again = await started();
    for (const { id, secret } of begun) {
      t.equal(again.use(secret)?.user?.name, 'ann');
      t.equal(again.endOf(id), day + 12 * HOUR_MS);
    }
  });

  await t.test('are counted: the one of the user that was used longest ago ends', async (t) => {
    const other = await users.create({ name: 'bob', role: 'admin', password: 'any' });
    const kept = await sessions.begin(other);
    const begun = [];
    for (let number = 0; number < 20; number++) {
      day++;
      begun.push(await sessions.begin(user));
    }
    day++;
    sessions.use(begun[0]?.secret ?? '');
    await sessions.begin(user);
    const counting = begun.map(({ id }) => sessions.endOf(id) !== undefined);
    t.strictSame(counting, [true, false, ...Array<boolean>(18).fill(true)]);
    t.ok(sessions.use(kept.secret));
    t.equal((await store.load(['session'])).length, 21);
  });

  await t.test(
    'are of the record of the user as it was, also when that was changed in between',
    async (t) => {
      const { secret } = await sessions.begin(user);
      const changed = await users.update(user.user_id, { role: 'operator' });
      t.equal(sessions.use(secret), undefined);
      await t.rejects(sessions.begin(user), { code: 'unauthorized' });
      const next = await sessions.begin(changed);
      const again = await started();
      t.equal(again.use(secret), undefined);
      t.ok(again.use(next.secret));
      t.equal((await store.load(['session', user.user_id])).length, 1, 'the others are removed at the start');
    },
  );

  await t.test('stay ended when the store has refused to remove them', async (t) => {
    const { id, secret } = await sessions.begin(users.find(user.user_id));
    store.failure = new Error('no room');
    await t.rejects(sessions.end(id), /no room/);
    store.failure = undefined;
    t.equal(sessions.use(secret), undefined);
    await t.rejects(sessions.end(id), { code: 'session_ended' });
  });
});
