/** The description of one packet in the making: its layers with their fields, and the octets that each stands for. */
import { hexText, ipv4Text, ipv6Text, macText, printable } from './addresses.js';
import { worded, type PacketField, type PacketLayer, type Words } from './packet-field.js';
import { NOTHING } from './protocol-keys.js';

/** So many fields are described; a packet of 64 KiB may claim more options. */
const MOST_FIELDS = 1000;
const SHOWN_OCTETS = 32;

export class Description {
  readonly octets: Uint8Array;
  readonly layers: PacketLayer[] = [];
  at = 0;
  end: number;
  next = NOTHING;
  other = NOTHING;

  /** The columns of the list. */
  protocol = '';
  source = '';
  destination = '';
  info = '';
  /** Set by an error message: what follows is the packet that it is about. */
  isQuoted = false;
  #count = 0;

  constructor(octets: Uint8Array) {
    this.octets = octets;
    this.end = octets.length;
  }

  open(protocol: string, title: string): PacketLayer {
    const layer = { protocol, title, summary: '', at: this.at, length: 0, fields: [] };
    this.layers.push(layer);
    if (!this.isQuoted) this.protocol = protocol;
    return layer;
  }

  /** Sets the text of the layer and, unless it is quoted, of the row. */
  say(text: string): void {
    const layer = this.layers.at(-1);
    if (layer !== undefined) layer.summary = text;
    if (!this.isQuoted) this.info = text;
  }

  /** Sets source and destination of the row, unless they are quoted. */
  between(source: string, destination: string): void {
    if (this.isQuoted) return;
    this.source = source;
    this.destination = destination;
  }

  /** Leaves a header behind that ends here, and says what follows. */
  go(at: number, next: number, other: number = NOTHING): void {
    this.at = Math.min(Math.max(at, this.at), this.end);
    this.next = next;
    this.other = other;
  }

  octet(at: number): number {
    return at < this.end ? (this.octets[at] ?? 0) : 0;
  }

  pair(at: number): number {
    return (this.octet(at) << 8) | this.octet(at + 1);
  }

  readonly has = (at: number, length: number): boolean => at + length <= this.end;

  /** An unsigned number of up to six octets. */
  number(id: string, name: string, at: number, length: number, words: Words = {}): number {
    if (!this.#holds(at, length)) return 0;
    const value = this.#read(at, length);
    this.#add({ id, name, text: worded(value, words), value, at, length });
    return value;
  }

  /** The bits of a number of up to four octets that a mask selects. */
  bits(id: string, name: string, at: number, length: number, mask: number, words: Words = {}): number {
    if (!this.#holds(at, length)) return 0;
    const shift = 31 - Math.clz32(mask & -mask);
    const value = ((this.#read(at, length) & mask) >>> shift) >>> 0;
    this.#add({ id, name, text: worded(value, words), value, at, length });
    return value;
  }

  mac(id: string, name: string, at: number): string {
    return this.#texted(id, name, at, 6, () => macText(this.octets, at));
  }

  ipv4(id: string, name: string, at: number): string {
    return this.#texted(id, name, at, 4, () => ipv4Text(this.octets, at));
  }

  ipv6(id: string, name: string, at: number): string {
    return this.#texted(id, name, at, 16, () => ipv6Text(this.octets, at));
  }

  words(id: string, name: string, at: number, length: number): string {
    return this.#texted(id, name, at, length, () => printable(this.octets, at, at + length));
  }

  /** Octets that are not read any further. */
  rest(id: string, name: string, at: number, length: number): string {
    return this.#texted(id, name, at, length, () => {
      const shown = hexText(this.octets, at, at + Math.min(length, SHOWN_OCTETS), ' ');
      return length > SHOWN_OCTETS ? `${shown} …` : shown;
    });
  }

  /** A field whose text the protocol makes itself. */
  note(id: string, name: string, at: number, length: number, value: number | string, text?: string): void {
    if (this.#holds(at, length)) this.#add({ id, name, text: text ?? String(value), value, at, length });
  }

  #texted(id: string, name: string, at: number, length: number, read: () => string): string {
    if (!this.#holds(at, length)) return '';
    const text = read();
    this.#add({ id, name, text, value: text, at, length });
    return text;
  }

  #read(at: number, length: number): number {
    let value = 0;
    for (let index = 0; index < length; index++) value = value * 256 + (this.octets[at + index] ?? 0);
    return value;
  }

  /** Whether the octets are there; the first field of a layer that is cut says so. */
  #holds(at: number, length: number): boolean {
    if (this.has(at, length)) return true;
    const fields = this.layers.at(-1)?.fields;
    if (fields?.at(-1)?.id !== 'cut')
      this.#add({
        id: 'cut',
        name: 'Cut short',
        text: 'the packet ends here',
        value: 1,
        at: this.end,
        length: 0,
      });
    return false;
  }

  #add(field: PacketField): void {
    this.#count++;
    if (this.#count <= MOST_FIELDS) this.layers.at(-1)?.fields.push(field);
  }
}
