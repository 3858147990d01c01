/** A line of text for each packet of a pcapng stream. */
import { Transform } from 'node:stream';
import { describe } from '../dissection/dissection.js';
import { PcapngStream, type CapturedPacket } from '../dissection/pcapng-stream.js';
import { CommandError } from './command-error.js';

const ARROWS = ['-', '<', '>'];
const NANOSECONDS_A_WORD = 2 ** 32;

/** Columns: seconds since the first packet, interface, way, source, destination, protocol, octets, summary. */
export class PacketLines extends Transform {
  readonly #interfaces: { readonly name: string; readonly linkType: number }[] = [];
  readonly #stream = new PcapngStream({
    onInterface: ({ name, linkType }) => {
      this.#interfaces.push({ name: name.replaceAll(/\p{C}/gu, '.'), linkType });
    },
    onPacket: (packet) => this.push(this.#line(packet)),
    onLost: (id, count) => {
      if (count > 0) this.push(`# ${this.#interfaces[id]?.name ?? id}: ${count} packets lost\n`);
    },
  });
  #start: { readonly high: number; readonly low: number } | undefined;

  override _transform(piece: Uint8Array, _encoding: string, done: (error?: Error) => void): void {
    this.#stream.take(piece);
    done(this.#stream.isBroken ? new CommandError('the stream is no pcapng') : undefined);
  }

  #line({ octets, at, end, interfaceId, original, timeHigh, timeLow, direction }: CapturedPacket): string {
    this.#start ??= { high: timeHigh, low: timeLow };
    const time = (timeHigh - this.#start.high) * NANOSECONDS_A_WORD + timeLow - this.#start.low;
    const known = this.#interfaces[interfaceId];
    const { source, destination, protocol, info } = describe(octets.subarray(at, end), known?.linkType ?? 0);
    const words = [
      (time / 1e9).toFixed(6),
      known?.name ?? String(interfaceId),
      ARROWS[direction] ?? '-',
      source === '' ? '-' : source,
      destination === '' ? '-' : destination,
      protocol,
      String(original),
      info,
    ];
    return `${words.join('  ')}\n`;
  }
}
