import t, { type Test } from 'tap';
import { BATCH_FRAMES, type Batch } from '../../../../src/engine/forwarding/port.js';
import { Receiver, type Inlet } from '../../../../src/engine/sockets/linux/receiver.js';
import { RandomBytes } from '../../../support/random.js';
import { linuxSockets } from '../../../support/linux-sockets.js';
import { TransportRig, type Attached } from '../../../support/transport-rig.js';
import { UdpPeer } from '../../../support/udp-peer.js';

const MOST_MESSAGES = 64;
const MOST_OCTETS = 262_144;

const framesOf = (count: number, length: number): Buffer[] => {
  const bytes = new RandomBytes(length);
  return Array.from({ length: count }, () => bytes.next(length));
};

/** A receiver of its own at the socket of a link, and the batches that it hands over. */
async function bench(t: Test): Promise<{
  rig: TransportRig;
  peer: UdpPeer;
  link: Attached;
  receiver: Receiver;
  inlet: Inlet;
  batches: Buffer[][];
}> {
  const rig = new TransportRig(t, linuxSockets);
  const peer = await UdpPeer.open(t);
  const link = await rig.attachUdp(t, peer.port);
  if (!('descriptor' in link.endpoint)) throw new TypeError('Linux endpoints are descriptors');
  const batches: Buffer[][] = [];
  const inlet: Inlet = {
    descriptor: link.endpoint.descriptor,
    port: link.port,
    framesPerMessage: 1,
    fromLink: (frames: Batch) => {
      batches.push(rig.bytesOf(frames));
    },
  };
  return { rig, peer, link, receiver: new Receiver(rig.memory), inlet, batches };
}

void t.test('one call brings what there is, or says that there may be more', async (t) => {
  const { peer, link, receiver, inlet, batches } = await bench(t);
  t.equal(receiver.receive(inlet), 0);
  const frames = framesOf(MOST_MESSAGES + 10, 60);
  await peer.send(link.localPort, frames);
  t.equal(receiver.receive(inlet), -MOST_MESSAGES);
  t.equal(receiver.receive(inlet), 10);
  t.equal(receiver.receive(inlet), 0);
  t.same(batches, [frames.slice(0, MOST_MESSAGES), frames.slice(MOST_MESSAGES)]);
});

void t.test('a message of many frames is handed over in batches of bounded length', async (t) => {
  const { rig, receiver, batches, inlet } = await bench(t);
  // The far end is a link of the same transport, so that a run arrives as one message.
  const [left, right] = await rig.cable(t);
  if (!('descriptor' in right.endpoint)) throw new TypeError('Linux endpoints are descriptors');
  const at: Inlet = { ...inlet, descriptor: right.endpoint.descriptor };
  const cells = framesOf(1000, 53);
  rig.send(left, cells);
  let total = 0;
  let calls = 0;
  for (let frames = -1; frames < 0; calls++) {
    frames = receiver.receive(at);
    total += Math.abs(frames);
    if (calls > 0) t.ok(Math.abs(frames) <= BATCH_FRAMES, 'the first call has shown how long runs are');
  }
  t.equal(total, 1000);
  t.same(batches.flat(), cells);
  for (const batch of batches) t.ok(batch.length <= BATCH_FRAMES);
  t.ok(at.framesPerMessage > 1);

  batches.length = 0;
  const jumbos = framesOf(60, 9216);
  rig.send(left, jumbos);
  while (receiver.receive(at) < 0);
  t.same(batches.flat(), jumbos);
  for (const batch of batches) t.ok(Buffer.concat(batch).length < MOST_OCTETS + 9216);
});
