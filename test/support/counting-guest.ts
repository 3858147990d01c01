/**
 * A guest without an operating system: its boot sector counts aloud on the serial port. It writes each number to its disk
 * and reads it back before the next one, and says X when the disk has another number than its memory.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeTerminal } from './node-terminal.js';

const SECTOR = 512;
const DISK = 1024 * 1024;
const SIGNATURE = [0x55, 0xaa];
/** Real mode: read sector 1, compare, add one, write sector 1, print four hexadecimal digits, wait for the clock. */
const PROGRAM =
  'fa31c08ed88ec08ed0bc007cfb8816007fc706027f0000b402e840008b1e00803b1e027f7405b058e84200ff06027f8b1e027f' +
  '891e0080b403e820008b1e027fb90400c1c30488d8240f3c0a1c692fe81b00e2efb00ae81400f4ebbbb001bb0080b90200b600' +
  '8a16007fcd13c350bafd03eca82074fb58baf803eec3';

/** The properties of a node with this guest. */
export const COUNTER = {
  ram: 32,
  hda_disk_image: 'counter.img',
  hda_disk_interface: 'ide',
};

/** Puts the disk of the guest among the images of a server. */
export function placeCounter(data: string): void {
  const images = join(data, 'images', 'QEMU');
  mkdirSync(images, { recursive: true });
  const disk = Buffer.alloc(DISK);
  disk.write(PROGRAM, 'hex');
  disk.set(SIGNATURE, SECTOR - SIGNATURE.length);
  writeFileSync(join(images, COUNTER.hda_disk_image), disk);
}

/** Waits for so many lines of the guest, and returns its numbers. Throws when memory and disk were not of one moment. */
export async function hears(terminal: NodeTerminal, lines: number): Promise<number[]> {
  const text = await terminal.until(new RegExp(`(?:[X0-9A-F]{4,5}\\n){${lines}}`));
  // A guest that boots from a used disk begins at 1.
  if (text.replace('X0001', '').includes('X'))
    throw new Error(`the disk has another number than the memory: ${text}`);
  return [...text.matchAll(/([0-9A-F]{4})\n/g)].map(([, digits = '']) => Number.parseInt(digits, 16));
}
