import t from 'tap';
import { NetioBridge, type NetioSettings } from '../../../src/engine/devices/netio-bridge.js';
import { DeviceRig } from '../../support/device-rig.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';

function bridgeWith(...ports: readonly number[]): DeviceRig<NetioSettings> {
  const rig = new DeviceRig((fabric) => new NetioBridge(fabric));
  rig.device.configure({ image: 3, bridge: 515 });
  rig.attach(...ports);
  return rig;
}

/** A datagram of an image: the header, and a frame. */
function fromImage(port: number, frame: Uint8Array, type = 1): Buffer {
  return Buffer.concat([Buffer.of(2, 3, 0, 3, port, port, type, 0), frame]);
}

void t.test('a frame of the image leaves at the link of the port that its header names', (t) => {
  const rig = bridgeWith(0, 1, 2 * 5 + 1, 2 * 63 + 1);
  const frame = Buffer.from('a frame');
  t.same(rig.receive(0, [fromImage(0x00, frame)]), [{ port: 1, bytes: frame }]);
  // Bay 1, unit 1 is the sixth port.
  t.same(rig.receive(0, [fromImage(0x11, frame)]), [{ port: 11, bytes: frame }]);
  t.same(rig.receive(0, [fromImage(0x3f, frame)]), [{ port: 127, bytes: frame }]);
  t.equal(rig.unaccounted, 0);
  t.equal(rig.device.inspect(), null);
  t.end();
});

void t.test('a frame of a link goes to the image with the header of its port', (t) => {
  const rig = bridgeWith(0, 1, 2 * 5 + 1);
  const frame = Buffer.from('a frame');
  t.same(rig.receive(11, [frame, frame]), [
    { port: 0, bytes: Buffer.concat([Buffer.of(0, 3, 2, 3, 0x11, 0x11, 1, 0), frame]) },
    { port: 0, bytes: Buffer.concat([Buffer.of(0, 3, 2, 3, 0x11, 0x11, 1, 0), frame]) },
  ]);
  rig.device.configure({ image: 511, bridge: 1023 });
  const [sent] = rig.receive(1, [frame]);
  t.same(sent?.bytes.subarray(0, 8), Buffer.of(1, 255, 3, 255, 0, 0, 1, 0));
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('whatever an image sends, only frames for a port with a link pass, and all is counted', (t) => {
  const rig = bridgeWith(0, 1);
  const nothing = (bytes: Buffer): void => {
    t.same(rig.receive(0, [bytes]), []);
  };
  nothing(Buffer.of(1));
  nothing(fromImage(0, Buffer.alloc(0)));
  nothing(fromImage(0, Buffer.of(1), 3));
  t.match(rig.counters(0), { malformed: 3 });
  nothing(fromImage(0x01, Buffer.of(1)));
  // The fifth unit is no port, although its number is that of another bay.
  nothing(fromImage(0x40, Buffer.of(1)));
  t.match(rig.counters(0), { no_output: 2 });
  const bytes = new RandomBytes(testSeed(1));
  const random = new Random(testSeed(2));
  for (let round = 0; round < 200; round++) {
    rig.receive(
      0,
      Array.from({ length: random.below(64) }, () => bytes.next(1 + random.below(40))),
    );
  }
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('without a socket, and without memory, frames of a link are dropped and counted', (t) => {
  const rig = bridgeWith(1);
  t.same(rig.receive(1, [Buffer.of(1)]), []);
  t.match(rig.counters(1), { no_output: 1 });
  const full = new DeviceRig((fabric) => new NetioBridge(fabric), 0);
  full.attach(0, 1);
  t.same(full.receive(1, [Buffer.of(1)]), []);
  t.match(full.counters(1), { no_memory: 1 });
  t.equal(rig.unaccounted + full.unaccounted, 0);
  t.end();
});
