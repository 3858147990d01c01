/**
 * Puts packets into a log: those that the plan asks for, as far as it wants them kept, until a limit is reached. A
 * packet that finds no room is counted and gone. In a pcapng log whose header does not describe the interface, the
 * description comes before the first packet, and the log gives the interface its number.
 */
import { LOG_END } from '../../base/memory/capture-memory.js';
import { matcherOf, type Matcher } from '../wire/bpf.js';
import { statisticsBlock } from '../wire/pcapng.js';
import type { LogWriter } from './log-writer.js';
import { copyOctets, octetsOver, type Octets } from './octets.js';
import { PCAP_RECORDS, PcapngRecords, type RecordForm } from './record-form.js';
import type { TapClock } from './tap-clock.js';
import type { TapPlan } from './tap-plan.js';

const STATISTICS_LENGTH = statisticsBlock({
  interfaceId: 0,
  received: 0,
  dropped: 0,
  at: { high: 0, low: 0 },
}).length;

/** No place. */
export const NOT_KEPT = -1;

export class Recorder {
  readonly log: LogWriter;
  readonly #clock: TapClock;
  readonly #pcapng: PcapngRecords | undefined;
  readonly #form: RecordForm;
  readonly #matcher: Matcher | undefined;
  readonly #snaplen: number;
  readonly #sample: number;
  readonly #maxPackets: number;
  readonly #maxOctets: number;
  /** What is still to be put before the first packet. */
  #opening: Octets | undefined;
  /** How many that match are left out until the next is kept. */
  #toSkip = 0;
  #recordLength = 0;
  #received = 0;
  #dropped = 0;

  /** Of no packet less than `leastKept` octets are kept: without them a reader would refuse the whole file. */
  constructor(plan: TapPlan, leastKept: number, log: LogWriter, clock: TapClock) {
    this.log = log;
    this.#clock = clock;
    this.#pcapng = plan.format === 'pcapng' ? new PcapngRecords() : undefined;
    this.#form = this.#pcapng ?? PCAP_RECORDS;
    this.#matcher = plan.bpf === undefined ? undefined : matcherOf(plan.bpf);
    this.#snaplen = Math.max(plan.snaplen, leastKept);
    this.#sample = plan.sample;
    this.#maxPackets = plan.maxPackets;
    this.#maxOctets = plan.maxOctets;
    if (this.#pcapng !== undefined) log.holdBack(STATISTICS_LENGTH);
    if (plan.opening !== undefined) {
      this.#opening = octetsOver(plan.opening);
      this.#open(this.#opening);
    }
  }

  /** All batches are published, and have a time, before and after. `flags` and `vpi` are those of a record form. */
  keep({ bytes, view }: Octets, offset: number, length: number, flags: number, vpi: number): void {
    const { log } = this;
    if (log.isEnded) return;
    if (this.#matcher !== undefined && !this.#matcher(bytes, offset, length)) {
      this.#received++;
      return;
    }
    const place = this.begin(length, flags, vpi);
    if (place === NOT_KEPT) return;
    copyOctets(view, offset, log.view, place, Math.min(length, this.#snaplen));
    this.end(length);
  }

  /** Makes a record for a packet; returns where in `log.view` as much of it as is kept belongs, or NOT_KEPT. */
  begin(length: number, flags: number, vpi: number): number {
    const { log } = this;
    if (log.isEnded) return NOT_KEPT;
    this.#received++;
    if (this.#toSkip > 0) {
      this.#toSkip--;
      return NOT_KEPT;
    }
    this.#toSkip = this.#sample - 1;
    if (this.#opening !== undefined && !this.#open(this.#opening)) return this.#drop();
    const kept = Math.min(length, this.#snaplen);
    const recordLength = this.#form.lengthOf(kept, vpi);
    if (!log.fits(recordLength, this.#maxOctets)) {
      log.end(LOG_END.maxOctets);
      return NOT_KEPT;
    }
    if (!log.reserve(recordLength)) return this.#drop();
    this.#recordLength = recordLength;
    return this.#form.write(log.view, log.at, this.#clock, kept, length, flags, vpi);
  }

  /** The packet is where `begin` told. */
  end(length: number): void {
    const { log } = this;
    log.commit(this.#recordLength);
    log.octets += length;
    if (++log.packets === this.#maxPackets) log.end(LOG_END.maxPackets);
  }

  /** Puts what has to be said last into the log. */
  close(): void {
    if (this.#pcapng === undefined) return;
    this.log.holdBack(-STATISTICS_LENGTH);
    // An interface that the log does not describe has no statistics either.
    if (this.#opening !== undefined) return;
    this.#clock.read();
    const { interfaceId } = this.#pcapng;
    const { high, low } = this.#clock;
    const [received, dropped] = [this.#received, this.#dropped];
    this.log.put(octetsOver(statisticsBlock({ interfaceId, received, dropped, at: { high, low } })));
    this.log.publish(this.#clock.milliseconds);
  }

  #drop(): number {
    this.#dropped++;
    this.log.dropped++;
    return NOT_KEPT;
  }

  /** False when there is no room yet. */
  #open(opening: Octets): boolean {
    const { log } = this;
    if (!log.fits(opening.bytes.length, this.#maxOctets)) {
      log.end(LOG_END.maxOctets);
      return false;
    }
    const interfaceId = log.describe(opening);
    if (interfaceId === undefined) return false;
    this.#opening = undefined;
    log.publish(this.#clock.milliseconds);
    if (this.#pcapng !== undefined) this.#pcapng.interfaceId = interfaceId;
    return true;
  }
}
