import { mock } from 'node:test';
import t from 'tap';
import { Passwords } from '../../../src/lab/access/passwords.js';
import { Tokens } from '../../../src/lab/access/tokens.js';
import { Users } from '../../../src/lab/access/users.js';
import { FakeStore } from '../../support/fake-store.js';

const DAY_MS = 24 * 3600 * 1000;
const passwords = new Passwords({ threads: { run: () => Promise.resolve('a hash' as never) }, atOnce: 1 });

void t.test('tokens', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => {
    mock.timers.reset();
  });
  let day = Date.parse('2026-11-23T00:00:00Z');
  const now = (): number => day;
  const store = new FakeStore();
  const users = new Users({ store, passwords, hasBuiltInAdmin: false, now });
  const tokens = new Tokens({ store, users, now });
  const user = await users.create({ name: 'ann', role: 'admin', password: 'any' });
  const wish = { name: 'nightly', rights: null, projects: null };

  await t.test('are refused from the moment on in which they expire', async (t) => {
    const expiry = new Date(day + DAY_MS).toISOString();
    const [token, secret] = await tokens.create(user.user_id, { ...wish, expires_at: expiry });
    day += DAY_MS - 1;
    t.equal(tokens.use(secret), token);
    day += 1;
    t.equal(tokens.use(secret), undefined);
  });

  await t.test('have their last uses written together, five minutes after the first of them', async (t) => {
    const [first, one] = await tokens.create(user.user_id, { ...wish, expires_at: null });
    const [second, other] = await tokens.create(user.user_id, { ...wish, expires_at: null });
    mock.timers.tick(5 * 60 * 1000);
    await new Promise(setImmediate);
    const before = store.commits.length;
    for (let use = 0; use < 1000; use++) {
      tokens.use(one);
      tokens.use(other);
    }
    mock.timers.tick(5 * 60 * 1000 - 1);
    t.equal(store.commits.length, before);
    mock.timers.tick(1);
    await new Promise(setImmediate);
    t.equal(store.commits.length, before + 1);
    const keys = store.commits[before]?.map((change) => ('put' in change ? change.put : []));
    const use = (id: string): string[] => ['token-use', user.user_id, id];
    t.strictSame(keys, [use(first.token_id), use(second.token_id)]);
  });

  await t.test('are the same after a start, and none is left of a user who has gone', async (t) => {
    const [token, secret] = await tokens.create(user.user_id, { ...wish, expires_at: null });
    const others = new Users({ store, passwords, hasBuiltInAdmin: true, now });
    const started = new Tokens({ store, users: others, now });
    await others.start();
    await started.start();
    t.strictSame(started.use(secret), token);
    await others.remove(user.user_id);
    t.strictSame(started.list(), []);
    t.strictSame(await store.load(['token']), []);
    t.strictSame(await store.load(['token-use']), []);
  });

  await t.test('are counted', async (t) => {
    const many = await users.create({ name: 'many', role: 'operator', password: null });
    for (let made = 0; made < 200; made++) {
      await tokens.create(many.user_id, { ...wish, expires_at: null });
    }
    await t.rejects(tokens.create(many.user_id, { ...wish, expires_at: null }), { code: 'too_many_tokens' });
  });
});
