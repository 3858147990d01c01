/**
 * An image that drives an ATM card of the real Dynamips: a c7200 with an NPE-400 and a PA-A1 in its slot 1. The router sends
 * one frame of AAL5 when it has started, and then waits.
 */
import { CACHED, jump, NOTHING, set, swapped, UNCACHED, write } from './mips-program.js';
import { bootImage, IMAGE_START } from './router-image.js';

/** Physical addresses at which a driver finds the PCI controller, and puts the memory of the card. */
const CONTROLLER = 0x1400_0000;
const CARD = 0x1800_0000;
const PCI = { enabled: 0x8000_0000, address: 0xcf8, data: 0xcfc, base: 0x10, buses: 0x18 } as const;
/** The bridge to slot 1 is this device; the bus behind it gets the number 1. */
const BRIDGE = 7;
const BUSES = 0x01_01_00;
/** In the memory of the card: the table of what is sent when, and the state of the first channel. */
const SCHEDULE = 0;
const FIRST_CHANNEL = 1;
const CHANNEL_STATE = 0x8000 + FIRST_CHANNEL * 32 + 12;
const OWN = 0x8000_0000;
/** A buffer that is a whole packet, in AAL5. */
const WHOLE_AAL5 = 0xe400_0000;

/** The places in the image: a ring, whose address is a multiple of 1 KiB, and its buffer. */
const PLACES = { ring: 0x400, buffer: 0x440 } as const;
const BUFFER_HEADER = 16;
const LENGTH = 0x600;
const [LOOP, CONTROL, MEMORY] = [11, 16, 17];

const physical = (place: number): number => IMAGE_START - CACHED + place;

function configure(bus: number, device: number, register: number, value: number): number[] {
  const address = PCI.enabled + (bus << 16) + (device << 11) + register;
  return [...write(CONTROL, PCI.address, swapped(address)), ...write(CONTROL, PCI.data, swapped(value))];
}

export interface AtmRouterImage {
  readonly image: Buffer;
  /** The address at which the router waits. */
  readonly idlePc: string;
}

/** The frame has at most 256 bytes. */
export function atmRouterImage(
  { vpi, vci }: { vpi: number; vci: number },
  frame: Uint8Array,
): AtmRouterImage {
  const setUp = [
    ...[...set(CONTROL, UNCACHED + CONTROLLER), ...set(MEMORY, UNCACHED + CARD)],
    ...configure(0, BRIDGE, PCI.buses, BUSES),
    ...configure(1, 0, PCI.base, CARD),
    // The offset of a state is too large for a signed one.
    ...set(LOOP, UNCACHED + CARD + CHANNEL_STATE),
    ...write(LOOP, 0, OWN + physical(PLACES.ring) / 4),
    ...write(MEMORY, SCHEDULE, FIRST_CHANNEL),
  ];
  const loopAt = IMAGE_START + 4 * (setUp.length + 2);
  const code = Buffer.alloc(LENGTH);
  for (const [index, word] of [...setUp, ...set(LOOP, loopAt), jump(LOOP), NOTHING].entries())
    code.writeUInt32BE(word, 4 * index);
  code.writeUInt32BE(OWN + physical(PLACES.buffer) / 4, PLACES.ring);
  code.writeUInt32BE(WHOLE_AAL5 + frame.length, PLACES.buffer);
  code.writeUInt32BE((vpi << 20) + (vci << 4), PLACES.buffer + 8);
  code.set(frame, PLACES.buffer + BUFFER_HEADER);
  return { image: bootImage(code), idlePc: `0x${loopAt.toString(16)}` };
}
