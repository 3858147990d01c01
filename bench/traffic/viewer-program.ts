/** The program of traffic/viewer-crowd.ts: reports once when all watch, and once when all streams have ended. */
import { PCAP_HEADER_LENGTH, RECORD_HEADER_LENGTH } from '../../src/engine/wire/pcap.js';
import { TAG } from './frame-tag.js';
import { monotonicMs } from './monotonic.js';
import { print, readPlan } from './program.js';
import { readStream } from './stream-client.js';
import type { CrowdPlan, CrowdReport } from './viewer-crowd.js';

const KEPT_LENGTH = 8;
const MOST_SAMPLES = 4_000_000;
const NOTHING = Buffer.alloc(0);

const plan = await readPlan<CrowdPlan>();
const latencies = new Float32Array(MOST_SAMPLES);
let samples = 0;
let lastAt = 0;

class Viewer {
  octets = -PCAP_HEADER_LENGTH;
  packets = 0;
  missing = 0;
  readonly watches: Promise<void>;
  readonly ended: Promise<void>;
  #isWatching: () => void = () => undefined;
  /** The bytes of a record that is not whole yet; before that, of the header. */
  #rest: Buffer = NOTHING;
  #next = 0;
  #hasHeader = false;

  constructor(url: string) {
    this.watches = new Promise((resolve) => {
      this.#isWatching = resolve;
    });
    this.ended = readStream(url, (bytes) => {
      this.octets += bytes.length;
      if (this.octets >= 0) this.#isWatching();
      lastAt = monotonicMs();
      if (plan.reads === 'records') this.#read(bytes, lastAt);
    });
  }

  #read(bytes: Buffer, now: number): void {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let at = 0;
    if (!this.#hasHeader && all.length >= PCAP_HEADER_LENGTH) {
      this.#hasHeader = true;
      at = PCAP_HEADER_LENGTH;
    }
    while (this.#hasHeader && at + RECORD_HEADER_LENGTH <= all.length) {
      const packet = at + RECORD_HEADER_LENGTH;
      const end = packet + all.readUInt32LE(at + KEPT_LENGTH);
      if (end > all.length) break;
      this.#take(all, packet + plan.tagAt, now);
      at = end;
    }
    this.#rest = at === all.length ? NOTHING : Buffer.from(all.subarray(at));
  }

  #take(bytes: Buffer, tag: number, now: number): void {
    this.packets++;
    const number = bytes.readUInt32LE(tag + TAG.number);
    if (number !== this.#next) this.missing += Math.max(1, number - this.#next);
    this.#next = number + 1;
    if (samples < MOST_SAMPLES) latencies[samples++] = now - bytes.readDoubleLE(tag + TAG.sentAt);
  }
}

const viewers = plan.urls.map((url) => new Viewer(url));
const ended = Promise.all(viewers.map((viewer) => viewer.ended));
// A viewer that fails before it watches ends the program, too.
await Promise.race([ended, Promise.all(viewers.map(({ watches }) => watches))]);
const { user, system } = process.cpuUsage();
print('ready');
await ended;
const used = process.cpuUsage({ user, system });
const sorted = latencies.subarray(0, samples).sort();
const quantile = (share: number): number => sorted[Math.floor(share * (samples - 1))] ?? 0;
const report: CrowdReport = {
  viewers: viewers.map(({ octets, packets, missing }) => ({ octets, packets, missing })),
  lastAt,
  cpuSeconds: (used.user + used.system) / 1e6,
  latency50: quantile(0.5),
  latency99: quantile(0.99),
};
print(report);
