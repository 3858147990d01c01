import t from 'tap';
import { EthernetHub } from '../../../src/engine/devices/ethernet-hub.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';
import { DeviceRig } from '../../support/device-rig.js';

function hubWith(...ports: readonly number[]): DeviceRig<null> {
  // A hub makes nothing anew, so no workspace is needed.
  const rig = new DeviceRig((fabric) => new EthernetHub(fabric), 0);
  rig.device.configure(null);
  rig.attach(...ports);
  return rig;
}

void t.test('every frame leaves at all other ports as it came', (t) => {
  const rig = hubWith(0, 3, 7);
  const [first, second] = [Buffer.from('first'), Buffer.from('and the second')];
  t.same(rig.receive(3, [first, second]), [
    { port: 0, bytes: first },
    { port: 0, bytes: second },
    { port: 7, bytes: first },
    { port: 7, bytes: second },
  ]);
  t.same(rig.counters(3), { frames_in: 2, octets_in: 19, copies: 2 });
  t.same(rig.counters(0), { frames_out: 2, octets_out: 19 });
  t.equal(rig.unaccounted, 0);
  t.equal(rig.device.inspect(), null);
  t.end();
});

void t.test('between two ports nothing is copied', (t) => {
  const rig = hubWith(1, 2);
  t.same(rig.receive(1, [Buffer.of(1)]), [{ port: 2, bytes: Buffer.of(1) }]);
  t.same(rig.counters(1), { frames_in: 1, octets_in: 1 });
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('where nobody else is, frames have no output', (t) => {
  const rig = hubWith(1, 2);
  rig.detach(2);
  t.same(rig.receive(1, [Buffer.of(1), Buffer.of(2)]), []);
  t.same(rig.counters(1), { frames_in: 2, octets_in: 2, no_output: 2 });
  rig.attach(2);
  t.equal(rig.receive(1, [Buffer.of(1)]).length, 1);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('a full batch of frames of any length passes, whoever comes and goes', (t) => {
  const random = new Random(testSeed(1));
  const content = new RandomBytes(testSeed(1));
  const rig = hubWith(0);
  const attached = new Set([0]);
  for (let turn = 0; turn < 200; turn++) {
    const port = 1 + random.below(6);
    if (attached.delete(port)) rig.detach(port);
    else {
      rig.attach(port);
      attached.add(port);
    }
    const frames = Array.from({ length: 256 }, () => content.next(1 + random.below(100)));
    const from = random.pick([...attached]);
    const sent = rig.receive(from, frames);
    const wanted = [...attached].filter((to) => to !== from);
    t.equal(sent.length, wanted.length * 256);
    for (const to of wanted) {
      const got = sent.filter((one) => one.port === to).map((one) => one.bytes);
      if (!Buffer.concat(got).equals(Buffer.concat(frames))) t.fail(`port ${to} got something else`);
    }
  }
  t.equal(rig.unaccounted, 0);
  t.end();
});
