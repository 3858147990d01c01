/** How a packet capture is asked for: the contract's two fields, and what is offered beyond them. */
import { extname } from 'node:path';
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';

export const DATA_LINK_TYPES = [
  'DLT_ATM_RFC1483',
  'DLT_EN10MB',
  'DLT_FRELAY',
  'DLT_C_HDLC',
  'DLT_PPP_SERIAL',
] as const;
export type DataLinkType = (typeof DATA_LINK_TYPES)[number];

export const LARGEST_SNAPLEN = 262_144;
const MOST_FILES = 100;
const LEAST_BYTES = 65_536;
const LONGEST_NAME = 200;
/** Three of them, and what joins them, are a name that is not too long. */
const LONGEST_PART = 60;

/** What is recorded of a packet and which packets are, of files and of streams. */
export const selection = {
  /** Only packets that match this expression of the Berkeley packet filter. */
  bpf: z.string().min(1).max(4096).optional(),
  /** The most that is kept of a packet. */
  snaplen: z.int().min(1).max(LARGEST_SNAPLEN).optional(),
  /** One packet in so many is kept. */
  sample: z.int().min(1).max(1_000_000).optional(),
  /** Of ATM: each cell by itself, instead of the frames that they make. */
  cells: z.boolean().optional(),
};

export type Selection = z.infer<z.ZodObject<typeof selection>>;

export const captureSettings = z.strictObject({
  ...selection,
  capture_file_name: z.string().optional(),
  data_link_type: z.enum(DATA_LINK_TYPES).optional(),
  /** Of a link: forward is from its first end to the second. Of a port: out is what its node sends. */
  direction: z.enum(['both', 'forward', 'backward', 'in', 'out']).optional(),
  /** So many files are kept, of `max_bytes` together: when they are full the oldest gives way. */
  files: z.int().min(1).max(MOST_FILES).optional(),
  format: z.enum(['pcap', 'pcapng']).optional(),
  /** When one of these is reached the capture ends. */
  max_bytes: z.int().min(LEAST_BYTES).max(Number.MAX_SAFE_INTEGER).optional(),
  max_packets: z.int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
  max_seconds: z.int().min(1).max(31_536_000).optional(),
});
export type CaptureSettings = z.infer<typeof captureSettings>;

/** The name of the file: one component of a path, which a client cannot lead elsewhere. */
export function captureFileName(wanted: string | undefined, fallback: string): string {
  if (wanted === undefined || wanted === '') return fallback;
  const isPlain = !/[/\\\0]/.test(wanted) && !wanted.startsWith('.');
  if (!isPlain || Buffer.byteLength(wanted) > LONGEST_NAME) throw refusals.captureNameRefused(wanted);
  return wanted;
}

/** What clients expect a file to be called that they did not name; `ends` say what is captured. */
export function defaultFileName(ends: readonly string[], format: CaptureSettings['format'] = 'pcap'): string {
  const parts = ends.map((end) => end.replace(/[^0-9A-Za-z_-]/g, '').slice(0, LONGEST_PART));
  return `${parts.join('_to_')}.${format}`;
}

/** Of a ring, the room for all its files must be known. */
export function checkRing({ files = 1, max_bytes: maxBytes }: CaptureSettings): void {
  if (files === 1) return;
  if (maxBytes === undefined || maxBytes < files * LEAST_BYTES)
    throw refusals.captureRingRefused(files, LEAST_BYTES);
}

/** What a file of a ring is called: a.pcap, then a.1.pcap. */
export function ringName(name: string, number: number): string {
  if (number === 0) return name;
  const extension = extname(name);
  return `${name.slice(0, name.length - extension.length)}.${number}${extension}`;
}
