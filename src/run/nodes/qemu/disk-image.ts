/**
 * The head of a disk image, read by ourselves before any program opens the image. Formats that can name other files are
 * the way in which a disk reads files of the host. Runs in a file thread.
 */
import { closeSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { openRegularFile } from '../../../base/disk/regular-file.js';
import { refusals } from '../../../base/errors/errors.js';
import type { DiskFormat } from './prepared-disks.js';

export interface DiskImage {
  readonly format: DiskFormat;
  /** Identifies this content of this file. */
  readonly version: string;
  /** The file that an overlay lies upon, as its head names it. */
  readonly backing: { readonly name: string; readonly format: string | undefined } | undefined;
}

/** The parts of a file that tell its format. */
interface Head {
  /** From the beginning of the file. */
  readonly bytes: Buffer;
  readonly size: number;
  /** Fewer bytes at the end of the file. */
  readonly read: (position: number, length: number) => Buffer;
}

const HEAD_LENGTH = 64 * 1024;
const SECTOR = 512;
const QCOW2_HEADER = 72;
const DATA_FILE_FEATURE = 4n;
const DATA_FILE_NAME = 0x44415441;
const BACKING_FORMAT = 0xe2792aca;
const LONGEST_BACKING = 1023;
const MOST_EXTENSIONS = 256;
/** QEMU reads so much of a VMDK's description. */
const VMDK_DESCRIPTION = 20 * SECTOR;
/** QEMU looks for the description here, whatever the header says. */
const VMDK_DESCRIPTION_AT = SECTOR;

/** Refuses (409) an image whose content is, in part, in another file; only that of an overlay is returned instead. */
export function readDiskImage(path: string): DiskImage {
  const { fd, size, version } = openRegularFile(path);
  try {
    const read = (position: number, length: number): Buffer => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(fd, bytes, 0, length, position));
    };
    const head = { bytes: read(0, HEAD_LENGTH), size, read };
    const name = basename(path);
    const format = formatOf(head);
    checkWhole(format, head, name);
    return { format, version, backing: format === 'qcow2' ? backingOf(head, name) : undefined };
  } finally {
    closeSync(fd);
  }
}

/** A file of none of the known formats is a raw one: QEMU is told so, whatever else might be seen in it. */
function formatOf({ bytes, size, read }: Head): DiskFormat {
  const magic = bytes.toString('latin1', 0, 8);
  if (magic.startsWith('QFI\xfb')) return bytes.length >= 8 && bytes.readUInt32BE(4) >= 2 ? 'qcow2' : 'qcow';
  if (magic.startsWith('KDMV') || magic.startsWith('COWD')) return 'vmdk';
  if (magic === 'vhdxfile') return 'vhdx';
  if (magic === 'conectix') return 'vpc';
  if (bytes.length >= 0x44 && bytes.readUInt32LE(0x40) === 0xbeda107f) return 'vdi';
  if (isVmdkText(bytes)) return 'vmdk';
  return size > SECTOR && read(size - SECTOR, 8).toString('latin1') === 'conectix' ? 'vpc' : 'raw';
}

/** The description of a VMDK disk as a text, after empty lines and comments. */
function isVmdkText(bytes: Buffer): boolean {
  const line = bytes
    .toString('latin1', 0, VMDK_DESCRIPTION)
    .split('\n')
    .find((text) => text.trim() !== '' && !text.startsWith('#'));
  return /^\s*version=/i.test(line ?? '') || /^# Disk Descriptor/i.test(bytes.toString('latin1', 0, 32));
}

function checkWhole(format: DiskFormat, head: Head, name: string): void {
  const { bytes } = head;
  if (format === 'qcow' && (bytes.length < 48 || bytes.readBigUInt64BE(8) !== 0n)) {
    throw refusals.diskRefused(name, 'it lies upon another file');
  }
  if (format === 'vmdk') checkVmdk(head, name);
  // A differencing disk names the file that it lies upon.
  if (format === 'vpc' && isDifferencing(head)) throw refusals.diskRefused(name, 'it lies upon another file');
}

/** Disks that are one file have their description in them; QEMU opens all files that it names. */
function checkVmdk({ bytes, read }: Head, name: string): void {
  const isSparse = bytes.toString('latin1', 0, 4) === 'KDMV' && bytes.length >= SECTOR;
  if (!isSparse) throw refusals.diskRefused(name, 'it is not the whole disk, which is in other files');
  const capacity = bytes.readBigUInt64LE(16);
  const described = bytes.readBigUInt64LE(28) * BigInt(SECTOR);
  if (capacity === 0n) throw refusals.diskRefused(name, 'its content is in other files');
  const places = [
    VMDK_DESCRIPTION_AT,
    ...(described < BigInt(Number.MAX_SAFE_INTEGER) ? [Number(described)] : []),
  ];
  const texts = places.map((place) => read(place, VMDK_DESCRIPTION).toString('latin1'));
  if (texts.some((text) => text.includes('parentFileNameHint'))) {
    throw refusals.diskRefused(name, 'it lies upon another file');
  }
}

function isDifferencing({ bytes, size, read }: Head): boolean {
  const atStart = bytes.toString('latin1', 0, 8) === 'conectix';
  const footers = [...(atStart ? [bytes] : []), ...(size >= SECTOR ? [read(size - SECTOR, SECTOR)] : [])];
  return footers.some(
    (footer) =>
      footer.length >= 64 &&
      footer.toString('latin1', 0, 8) === 'conectix' &&
      ![2, 3].includes(footer.readUInt32BE(60)),
  );
}

function backingOf({ bytes, read }: Head, name: string): DiskImage['backing'] {
  if (bytes.length < QCOW2_HEADER) throw refusals.diskRefused(name, 'its header is damaged');
  const isOld = bytes.readUInt32BE(4) === 2;
  if (!isOld && bytes.length < 104) throw refusals.diskRefused(name, 'its header is damaged');
  const features = isOld ? 0n : bytes.readBigUInt64BE(72);
  if ((features & DATA_FILE_FEATURE) !== 0n)
    throw refusals.diskRefused(name, 'its content is in another file');
  const extensions = extensionsOf(bytes, isOld ? QCOW2_HEADER : bytes.readUInt32BE(100), name);
  if (extensions.has(DATA_FILE_NAME)) throw refusals.diskRefused(name, 'its content is in another file');
  const at = bytes.readBigUInt64BE(8);
  const length = bytes.readUInt32BE(16);
  if (at === 0n) return undefined;
  if (length === 0 || length > LONGEST_BACKING || at > BigInt(HEAD_LENGTH * 64)) {
    throw refusals.diskRefused(name, 'its header is damaged');
  }
  return { name: read(Number(at), length).toString('utf8'), format: extensions.get(BACKING_FORMAT) };
}

/** The extensions of a qcow2 header, which end with one of type 0. */
function extensionsOf(bytes: Buffer, start: number, name: string): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  let at = start;
  for (let count = 0; count < MOST_EXTENSIONS; count++) {
    if (at + 8 > bytes.length) break;
    const type = bytes.readUInt32BE(at);
    const length = bytes.readUInt32BE(at + 4);
    if (type === 0) return found;
    if (length > bytes.length - at - 8) break;
    found.set(type, bytes.toString('latin1', at + 8, at + 8 + length));
    at += 8 + Math.ceil(length / 8) * 8;
  }
  throw refusals.diskRefused(name, 'its header is damaged');
}
