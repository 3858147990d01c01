/**
 * Writes packets to a log as records of pcap or pcapng: the packets that the plan selects, cut to its snaplen, until a
 * limit is reached. A packet that finds no room is counted and dropped. In a pcapng log whose header does not describe
 * the interface, the description is written before the first packet, and the log numbers the interface.
 */
import { LOG_END } from '../../base/memory/capture-memory.js';
import { matcherOf, type Matcher } from '../wire/bpf.js';
import { RECORD_HEADER_LENGTH, writeRecordHeader } from '../wire/pcap.js';
import { packetBlockLength, statisticsBlock, writePacketBlock } from '../wire/pcapng.js';
import type { LogAppender } from './log-appender.js';
import { copyBytes, spanOver, type ByteSpan } from './byte-span.js';
import type { TapClock } from './tap-clock.js';
import type { TapPlan } from './tap-plan.js';

const STATISTICS_LENGTH = statisticsBlock({
  interfaceId: 0,
  received: 0,
  dropped: 0,
  at: { high: 0, low: 0 },
}).length;

/** `begin` returns this when the packet is not recorded. */
export const NOT_KEPT = -1;

/** The format of records, chosen when a tap is made. */
interface RecordForm {
  /** The length of the whole record. `vpi` is 0, or a VPI that the packet itself cannot express. */
  lengthOf(kept: number, vpi: number): number;
  /** Writes everything except the packet; returns the offset where the packet belongs. `flags` are those of pcapng. */
  write(
    view: DataView,
    offset: number,
    clock: TapClock,
    kept: number,
    original: number,
    flags: number,
    vpi: number,
  ): number;
}

const PCAP_RECORDS: RecordForm = {
  lengthOf: (kept) => RECORD_HEADER_LENGTH + kept,
  write: (view, offset, clock, kept, original) => {
    writeRecordHeader(view, offset, clock.seconds, clock.nanoseconds, kept, original);
    return offset + RECORD_HEADER_LENGTH;
  },
};

class PcapngRecords implements RecordForm {
  /** The interface that the log's header describes, until the log assigns another number. */
  interfaceId = 0;

  lengthOf(kept: number, vpi: number): number {
    return packetBlockLength(kept, vpi);
  }

  write(
    view: DataView,
    offset: number,
    clock: TapClock,
    kept: number,
    original: number,
    flags: number,
    vpi: number,
  ): number {
    const { interfaceId } = this;
    return writePacketBlock(view, offset, interfaceId, clock.high, clock.low, kept, original, flags, vpi);
  }
}

export class Recorder {
  readonly log: LogAppender;
  readonly #clock: TapClock;
  readonly #pcapng: PcapngRecords | undefined;
  readonly #form: RecordForm;
  readonly #matcher: Matcher | undefined;
  readonly #snaplen: number;
  readonly #sample: number;
  readonly #maxPackets: number;
  readonly #maxOctets: number;
  /** The interface description that has to precede the first packet, until it is written. */
  #opening: ByteSpan | undefined;
  /** How many matching packets to skip before the next one is kept. */
  #toSkip = 0;
  #recordLength = 0;
  #received = 0;
  #dropped = 0;

  /** At least `leastKept` bytes of each packet are kept: with fewer, a reader would refuse the whole file. */
  constructor(plan: TapPlan, leastKept: number, log: LogAppender, clock: TapClock) {
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
      this.#opening = spanOver(plan.opening);
      this.#open(this.#opening);
    }
  }

  /** Call between reading the clock and publishing the log. `flags` and `vpi` are those of a record form. */
  keep({ bytes, view }: ByteSpan, offset: number, length: number, flags: number, vpi: number): void {
    const { log } = this;
    if (log.isEnded) return;
    if (this.#matcher !== undefined && !this.#matcher(bytes, offset, length)) {
      this.#received++;
      return;
    }
    const at = this.begin(length, flags, vpi);
    if (at === NOT_KEPT) return;
    copyBytes(view, offset, log.view, at, Math.min(length, this.#snaplen));
    this.end(length);
  }

  /** Begins a record for a packet; returns where in `log.view` the kept part of the packet belongs, or NOT_KEPT. */
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

  /** Ends the record: the packet lies where `begin` said. */
  end(length: number): void {
    const { log } = this;
    log.commit(this.#recordLength);
    log.octets += length;
    if (++log.packets === this.#maxPackets) log.end(LOG_END.maxPackets);
  }

  /** Writes the statistics of the interface. */
  close(): void {
    if (this.#pcapng === undefined) return;
    this.log.holdBack(-STATISTICS_LENGTH);
    // The log does not describe the interface, so it cannot have statistics of it.
    if (this.#opening !== undefined) return;
    this.#clock.read();
    const { interfaceId } = this.#pcapng;
    const { high, low } = this.#clock;
    const [received, dropped] = [this.#received, this.#dropped];
    this.log.put(spanOver(statisticsBlock({ interfaceId, received, dropped, at: { high, low } })));
    this.log.publish(this.#clock.milliseconds);
  }

  #drop(): number {
    this.#dropped++;
    this.log.dropped++;
    return NOT_KEPT;
  }

  /** Writes the interface description; false when there is no room yet. */
  #open(opening: ByteSpan): boolean {
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

/** The VPI when it needs more than the eight bits that packets have for it, else 0. */
export function wideVpi(vpi: number): number {
  return vpi > 0xff ? vpi : 0;
}
