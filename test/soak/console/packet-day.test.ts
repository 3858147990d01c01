/** A day of 100 packets a second: the memory of the packet worker ends where it was after the first million. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { PacketDeskRig } from '../../console/packet-desk-rig.js';
import { samplePcapng } from '../../support/sample-pcapng.js';

const FIRST = 1_000_000;
const DAY = 8_640_000;
const MOST_GROWTH = 1.05;
const SIZES = { octets: 64 * 1024 * 1024, packets: 2 ** 20 };

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function usedOctets(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

void t.test('a day of packets leaves no more memory in use than the first million', (t) => {
  const rig = new PacketDeskRig(SIZES);
  const head = samplePcapng([]);
  const packets = samplePcapng().subarray(head.length);
  rig.open();
  rig.receive(head);
  let state = rig.settle();
  const receive = (count: number): void => {
    while (state.received < count) {
      rig.reports.length = 0;
      for (let piece = 0; piece < 100; piece++) rig.receive(packets);
      state = rig.settle();
    }
  };
  receive(FIRST);
  const first = usedOctets();
  receive(DAY);
  const last = usedOctets();
  t.comment(`${first} octets, then ${last}`);
  t.ok(last <= MOST_GROWTH * first, 'no memory is left behind');
  const { held, heldOctets, received } = state;
  t.ok(received >= DAY);
  t.ok(held <= SIZES.packets && heldOctets <= SIZES.octets);
  t.equal(rig.ask('rows', { do: 'rows', from: received - 10, count: 10 }).rows.length, 10);
  t.end();
});
