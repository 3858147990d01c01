import t from 'tap';
import { Patch } from '../../../src/engine/devices/patch.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';
import { DeviceRig } from '../../support/device-rig.js';

function patchWith(...ports: readonly number[]): DeviceRig<null> {
  const rig = new DeviceRig((fabric) => new Patch(fabric), 0);
  rig.device.configure(null);
  rig.attach(...ports);
  return rig;
}

void t.test('a frame that comes in at one port of a pair leaves at the other as it came', (t) => {
  const rig = patchWith(0, 1, 2, 3);
  const [first, second] = [Buffer.from('first'), Buffer.from('and the second')];
  t.same(rig.receive(0, [first, second]), [
    { port: 1, bytes: first },
    { port: 1, bytes: second },
  ]);
  t.same(rig.receive(1, [first]), [{ port: 0, bytes: first }]);
  t.same(rig.receive(3, [second]), [{ port: 2, bytes: second }]);
  t.same(rig.counters(0), { frames_in: 2, octets_in: 19, frames_out: 1, octets_out: 5 });
  t.equal(rig.unaccounted, 0);
  t.equal(rig.device.inspect(), null);
  t.end();
});

void t.test('a frame has no output where the other port of the pair is not attached', (t) => {
  const rig = patchWith(0, 2, 3);
  t.same(rig.receive(0, [Buffer.of(1), Buffer.of(2)]), []);
  t.same(rig.counters(0), { frames_in: 2, octets_in: 2, no_output: 2 });
  rig.attach(1);
  t.equal(rig.receive(0, [Buffer.of(1)]).length, 1);
  rig.detach(1);
  t.equal(rig.receive(0, [Buffer.of(1)]).length, 0);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('full batches pass, whoever comes and goes', (t) => {
  const random = new Random(testSeed(1));
  const content = new RandomBytes(testSeed(1));
  const rig = patchWith();
  const attached = new Set<number>();
  for (let turn = 0; turn < 200; turn++) {
    const port = random.below(8);
    if (attached.delete(port)) rig.detach(port);
    else {
      rig.attach(port);
      attached.add(port);
    }
    for (const from of attached) {
      const frames = Array.from({ length: random.below(256) }, () => content.next(1 + random.below(100)));
      const passed = attached.has(from ^ 1) ? frames.map((bytes) => ({ port: from ^ 1, bytes })) : [];
      t.same(rig.receive(from, frames), passed);
    }
  }
  t.equal(rig.unaccounted, 0);
  t.end();
});
