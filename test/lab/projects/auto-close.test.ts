import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { AutoClose } from '../../../src/lab/projects/auto-close.js';

interface Watched {
  readonly autoClose: AutoClose;
  readonly closings: () => number;
  readonly pass: (milliseconds: number) => void;
}

/** The clock is the test's own. */
function watch(t: Test): Watched {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => {
    mock.timers.reset();
  });
  let count = 0;
  const autoClose = new AutoClose(5000, () => count++);
  return {
    autoClose,
    closings: () => count,
    pass: (milliseconds) => {
      mock.timers.tick(milliseconds);
    },
  };
}

void t.test('closes once, some time after the last listener has gone', (t) => {
  const { autoClose, closings, pass } = watch(t);
  const leave = autoClose.attend();
  pass(60_000);
  t.equal(closings(), 0);
  leave();
  pass(4999);
  t.equal(closings(), 0);
  pass(1);
  t.equal(closings(), 1);
  pass(60_000);
  t.equal(closings(), 1);
  t.end();
});

void t.test('stays open when nobody ever listened, whatever was held', (t) => {
  const { autoClose, closings, pass } = watch(t);
  autoClose.hold()();
  pass(60_000);
  t.equal(closings(), 0);
  t.end();
});

void t.test('a listener that comes back in time keeps it open', (t) => {
  const { autoClose, closings, pass } = watch(t);
  autoClose.attend()();
  pass(4000);
  const leave = autoClose.attend();
  pass(60_000);
  t.equal(closings(), 0);
  leave();
  pass(5000);
  t.equal(closings(), 1);
  t.end();
});

void t.test('never closes while something is in use, and then waits anew', (t) => {
  const { autoClose, closings, pass } = watch(t);
  const first = autoClose.hold();
  const second = autoClose.hold();
  autoClose.attend()();
  pass(60_000);
  first();
  first();
  pass(60_000);
  t.equal(closings(), 0, 'a release counts once');
  second();
  pass(4999);
  t.equal(closings(), 0);
  pass(1);
  t.equal(closings(), 1);
  t.end();
});

void t.test('a use that begins while the wait runs stops the wait', (t) => {
  const { autoClose, closings, pass } = watch(t);
  autoClose.attend()();
  pass(3000);
  const release = autoClose.hold();
  pass(60_000);
  t.equal(closings(), 0);
  release();
  pass(5000);
  t.equal(closings(), 1);
  t.end();
});

void t.test('a cancelled wait does not begin again when something is released', (t) => {
  const { autoClose, closings, pass } = watch(t);
  const release = autoClose.hold();
  autoClose.attend()();
  autoClose.cancel();
  release();
  pass(60_000);
  t.equal(closings(), 0);
  t.end();
});

void t.test('each listener keeps it open, and leaves once only', (t) => {
  const { autoClose, closings, pass } = watch(t);
  const [first, second] = [autoClose.attend(), autoClose.attend()];
  first();
  first();
  pass(60_000);
  t.equal(closings(), 0);
  second();
  pass(5000);
  t.equal(closings(), 1);
  t.end();
});
