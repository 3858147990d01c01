import t, { type Test } from 'tap';
import { LinuxBell } from '../../../../src/engine/sockets/linux/linux-bell.js';
import { Poller } from '../../../../src/engine/sockets/linux/poller.js';
import { patience } from '../../../support/patience.js';

const LIMIT_MS = patience(20_000);

/** A poller, and bells as descriptors that have something when they have rung. */
function pollerWith(t: Test, count: number): { poller: Poller; bells: LinuxBell[] } {
  const own = new LinuxBell();
  const bells = Array.from({ length: count }, () => new LinuxBell());
  t.teardown(() => {
    for (const bell of [own, ...bells]) bell.close();
  });
  const poller = new Poller(own.newListener().epoll);
  for (const bell of bells) poller.add(bell.newListener().event);
  return { poller, bells };
}

const found = (poller: Poller, ready: number): number[] =>
  Array.from({ length: ready }, (_, index) => poller.descriptorAt(index)).sort((a, b) => a - b);

void t.test('a wait ends when a descriptor has something, and says which', (t) => {
  const { poller, bells } = pollerWith(t, 5);
  t.equal(poller.wait(0), 0);
  t.equal(poller.wait(0.05), 0);
  bells[3]?.ring();
  bells[1]?.ring();
  const rung = [bells[1]?.newListener().event, bells[3]?.newListener().event];
  t.same(found(poller, poller.wait(LIMIT_MS)), rung);
  t.same(found(poller, poller.wait(LIMIT_MS)), rung, 'it has it until somebody takes it');
  t.end();
});

void t.test('a disarmed descriptor is silent until it is armed, and one that is removed for good', (t) => {
  const { poller, bells } = pollerWith(t, 2);
  const [first = -1, second = -1] = bells.map((bell) => bell.newListener().event);
  for (const bell of bells) bell.ring();
  poller.disarm(first);
  t.same(found(poller, poller.wait(LIMIT_MS)), [second]);
  poller.remove(second);
  t.equal(poller.wait(0), 0);
  poller.arm(first);
  t.same(found(poller, poller.wait(LIMIT_MS)), [first]);
  poller.arm(second);
  t.same(found(poller, poller.wait(LIMIT_MS)), [first]);
  poller.add(second);
  t.same(
    found(poller, poller.wait(LIMIT_MS)),
    [first, second].sort((a, b) => a - b),
  );
  t.end();
});

void t.test('hundreds of descriptors that have something are all told of at once', (t) => {
  const { poller, bells } = pollerWith(t, 500);
  for (const bell of bells) bell.ring();
  t.same(
    found(poller, poller.wait(LIMIT_MS)),
    bells.map((bell) => bell.newListener().event).sort((a, b) => a - b),
  );
  t.end();
});
