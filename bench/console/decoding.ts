/** The cost of a packet in the console's worker: to read and classify it, and to make its row. */
import { PcapngStream } from '../../src/dissection/pcapng-stream.js';
import { PacketStore } from '../../src/console/packets/packet-store.js';
import { PacketView } from '../../src/console/packets/packet-view.js';
import { samplePcapng } from '../../test/support/sample-pcapng.js';
import { figure, type Figure } from '../measurement.js';

const ROUNDS = 5;
const PACKETS = 500_000;
const ROWS = 100_000;
const SIZES = { octets: 64 * 1024 * 1024, packets: 2 ** 20 };

/** A stream of all samples, over and over. */
class Samples {
  readonly store = new PacketStore(SIZES);
  readonly #stream: PcapngStream;
  readonly #packets: Uint8Array;

  constructor() {
    this.#stream = new PcapngStream({
      onInterface: (described, block) => {
        this.store.addInterface(described, block);
      },
      onPacket: (packet) => void this.store.add(packet),
      onLost: () => undefined,
    });
    const head = samplePcapng([]);
    this.#packets = samplePcapng().subarray(head.length);
    this.#stream.take(head);
  }

  /** Takes at least so many packets more. */
  take(count: number): void {
    const until = this.store.next + count;
    while (this.store.next < until) this.#stream.take(this.#packets);
  }
}

export function decoding(): Figure[] {
  const [read, rows]: [number[], number[]] = [[], []];
  const samples = new Samples();
  samples.take(PACKETS);
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now();
    samples.take(PACKETS);
    read.push(((performance.now() - startedAt) * 1000) / PACKETS);
    rows.push(microsecondsARow(samples.store));
  }
  return [
    figure('to read, keep and classify a packet', 'µs', read),
    figure('to make the text of a row', 'µs', rows),
  ];
}

function microsecondsARow(store: PacketStore): number {
  const view = new PacketView(store, () => '');
  const startedAt = performance.now();
  for (let row = 0; row < ROWS; row++) {
    view.lookAt(store.next - 1 - row);
    view.description();
  }
  return ((performance.now() - startedAt) * 1000) / ROWS;
}
