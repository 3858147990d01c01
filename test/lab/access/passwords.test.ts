import { mock } from 'node:test';
import t from 'tap';
import { passwordTasks } from '../../../src/lab/access/password-tasks.js';
import { Passwords } from '../../../src/lab/access/passwords.js';

void t.test('a hash is that of its password and of no other', (t) => {
  const hash = passwordTasks.hashPassword({ password: 'pässword' });
  t.match(hash, /^\$scrypt\$ln=15,r=8,p=1\$/);
  t.not(passwordTasks.hashPassword({ password: 'pässword' }), hash, 'each has a salt of its own');
  const check = (password: string, known: string | null): boolean =>
    passwordTasks.checkPassword({ password, hash: known });
  t.ok(check('pässword', hash));
  for (const wrong of ['password', 'pässword ', '']) t.notOk(check(wrong, hash), wrong);
  for (const broken of [null, '', hash.slice(0, -1), hash.replace('ln=15', 'ln=14')])
    t.notOk(check('pässword', broken), String(broken));
  t.end();
});

void t.test('checks take turns; one that waits for ten seconds is refused, and never runs', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => {
    mock.timers.reset();
  });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const run = (_task: string, { password }: { password: string }): Promise<never> => {
    begun.push(password);
    return new Promise((resolve) => {
      ends.push(() => {
        resolve(true as never);
      });
    });
  };
  const passwords = new Passwords({ threads: { run }, atOnce: 2 });
  const [first, second] = [passwords.check('1', null, 'a'), passwords.check('2', null, 'a')];
  const third = passwords.check('3', null, 'a');
  const fourth = t.rejects(passwords.check('4', null, 'a'), { code: 'too_many_sign_ins', status: 503 });
  await new Promise(setImmediate);
  t.strictSame(begun, ['1', '2']);
  ends[0]?.();
  t.equal(await first, true);
  await new Promise(setImmediate);
  t.strictSame(begun, ['1', '2', '3']);
  mock.timers.tick(10_000);
  await fourth;
  for (const end of ends) end();
  t.strictSame(await Promise.all([second, third]), [true, true]);
  const fifth = passwords.check('5', null, 'a');
  await new Promise(setImmediate);
  t.strictSame(begun, ['1', '2', '3', '5'], 'the turns are free again');
  ends.at(-1)?.();
  t.equal(await fifth, true);
});

void t.test('clients take turns', async (t) => {
  const begun: string[] = [];
  const run = async (_task: string, { password }: { password: string }): Promise<never> => {
    begun.push(password);
    await new Promise(setImmediate);
    return true as never;
  };
  const passwords = new Passwords({ threads: { run }, atOnce: 1 });
  const greedy = Array.from({ length: 101 }, (_, index) => passwords.check(`guess ${index}`, null, 'greedy'));
  await t.rejects(passwords.check('one too many', null, 'greedy'), {
    code: 'too_many_sign_ins',
    status: 503,
  });
  t.equal(await passwords.check('honest', null, 'other'), true);
  t.ok(begun.indexOf('honest') <= 2, 'it waited for one check');
  await Promise.all(greedy);
});
