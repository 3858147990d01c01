/**
 * An image that drives a serial card of the real Dynamips: a c3600 with the chassis 3620 and an NM-4T in its slot 1. The
 * router sends its frame from port 0 with each key that is typed, and prints a byte of each frame that comes there.
 */
import {
  add,
  always,
  bits,
  CACHED,
  ifNegative,
  jump,
  load,
  loadByte,
  NOTHING,
  set,
  storeByte,
  swapped,
  UNCACHED,
  unlessSet,
  write,
} from './mips-program.js';
import { bootImage, IMAGE_START } from './router-image.js';

/** Physical addresses at which a driver finds the PCI controller, and puts the registers of the card. */
const CONTROLLER = 0x1400_0000;
const CARD = 0x1800_0000;
const CARD_DEVICE = 13;
const BASE_REGISTER = 0x10;
const PCI = { enabled: 0x8000_0000, address: 0xcf8, data: 0xcfc } as const;
/** Registers of the card; those of a ring are the physical addresses of its first descriptor and of its end. */
const CARD_REGISTERS = { enabled: 0x14, command: 0x2c24, sending: 0x180, receiving: 0x188 } as const;
const ALL_CHANNELS = 0xff;
const ENABLE_FIRST = 0;
/** A descriptor: flags with the length, and the physical address of the bytes. Each ring has one. */
const DESCRIPTOR = { length: 8, own: 0x8000_0000, whole: 0x6000_0000 } as const;

/** The places in the image, after the code. */
const PLACES = { text: 0x200, sending: 0x300, receiving: 0x308, frame: 0x310, buffer: 0x400 } as const;
const LENGTH = 0x500;
const BUFFER_LENGTH = 0x100;
/** The byte of a frame that is printed: it comes after the address and the kind of a frame of Frame Relay. */
export const PRINTED_BYTE = 4;

const [UART, TEXT, VALUE, LOOP, WORD, CONTROL, REGISTERS, DATA] = [8, 9, 10, 11, 13, 16, 17, 18];
const UART_AT = 0xbe84_0000;
const UART_STATUS = 0x28;

const physical = (place: number): number => IMAGE_START - CACHED + place;

export interface SerialRouterImage {
  readonly image: Buffer;
  /** The address at which the router waits. */
  readonly idlePc: string;
}

export function serialRouterImage(text: string, frame: Uint8Array): SerialRouterImage {
  const { sending, receiving } = CARD_REGISTERS;
  const setUp = [
    ...[...set(UART, UART_AT), ...set(TEXT, IMAGE_START + PLACES.text)],
    ...[
      ...set(CONTROL, UNCACHED + CONTROLLER),
      ...set(REGISTERS, UNCACHED + CARD),
      ...set(DATA, IMAGE_START),
    ],
    ...write(CONTROL, PCI.address, swapped(PCI.enabled + (CARD_DEVICE << 11) + BASE_REGISTER)),
    ...write(CONTROL, PCI.data, swapped(CARD)),
    ...write(REGISTERS, CARD_REGISTERS.enabled, ALL_CHANNELS),
    ...write(REGISTERS, CARD_REGISTERS.command, ENABLE_FIRST),
    ...write(REGISTERS, sending, physical(PLACES.sending)),
    ...write(REGISTERS, sending + 4, physical(PLACES.sending) + DESCRIPTOR.length),
    ...write(REGISTERS, receiving, physical(PLACES.receiving)),
    ...write(REGISTERS, receiving + 4, physical(PLACES.receiving) + DESCRIPTOR.length),
    ...[
      loadByte(VALUE, TEXT, 0),
      unlessSet(VALUE, 4),
      NOTHING,
      storeByte(VALUE, UART, 0),
      always(-5),
      add(TEXT, 1),
    ],
  ];
  const loopAt = IMAGE_START + 4 * (setUp.length + 2);
  const received = [
    ...[loadByte(VALUE, DATA, PLACES.buffer + PRINTED_BYTE), storeByte(VALUE, UART, 0)],
    ...write(DATA, PLACES.receiving, DESCRIPTOR.own + BUFFER_LENGTH),
  ];
  const typed = [
    ...[loadByte(VALUE, UART, 0), storeByte(VALUE, UART, 0)],
    ...write(DATA, PLACES.sending, DESCRIPTOR.own + DESCRIPTOR.whole + frame.length),
  ];
  const loop = [
    ...[
      loadByte(VALUE, UART, UART_STATUS),
      bits(VALUE, 1),
      unlessSet(VALUE, typed.length + 1),
      NOTHING,
      ...typed,
    ],
    ...[load(WORD, DATA, PLACES.receiving), ifNegative(WORD, received.length + 1), NOTHING, ...received],
    ...[jump(LOOP), NOTHING],
  ];
  const code = Buffer.alloc(LENGTH);
  for (const [index, instruction] of [...setUp, ...set(LOOP, loopAt), ...loop].entries())
    code.writeUInt32BE(instruction, 4 * index);
  code.write(`${text}\0`, PLACES.text, 'latin1');
  code.writeUInt32BE(physical(PLACES.frame), PLACES.sending + 4);
  code.writeUInt32BE(DESCRIPTOR.own + BUFFER_LENGTH, PLACES.receiving);
  code.writeUInt32BE(physical(PLACES.buffer), PLACES.receiving + 4);
  code.set(frame, PLACES.frame);
  return { image: bootImage(code), idlePc: `0x${loopAt.toString(16)}` };
}
