/** The settings of a packet capture: the two fields of the contract, and the fields offered beyond them. */
import { extname } from 'node:path';
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';

const DATA_LINK_TYPES = [
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
/** Three parts of this length, with the text that joins them, are still a permitted name. */
const LONGEST_PART = 60;

/** Which packets a file or a stream records, and how much of each. */
export const selection = {
  /** A Berkeley packet filter; only packets that match it are recorded. */
  bpf: z.string().min(1).max(4096).optional(),
  /** Longer packets are cut to this many bytes. */
  snaplen: z.int().min(1).max(LARGEST_SNAPLEN).optional(),
  /** One packet in this many is recorded. */
  sample: z.int().min(1).max(1_000_000).optional(),
  /** Records ATM cells one by one instead of the reassembled AAL5 frames. */
  cells: z.boolean().optional(),
};

export type Selection = z.infer<z.ZodObject<typeof selection>>;

export const captureSettings = z.strictObject({
  ...selection,
  capture_file_name: z.string().optional(),
  data_link_type: z.enum(DATA_LINK_TYPES).optional(),
  /** For a link, forward is from its first end to the second; for a port, out is what its node sends. */
  direction: z.enum(['both', 'forward', 'backward', 'in', 'out']).optional(),
  /** The number of files of a ring, which share `max_bytes`; when all are full the oldest is deleted. */
  files: z.int().min(1).max(MOST_FILES).optional(),
  format: z.enum(['pcap', 'pcapng']).optional(),
  /** The capture ends when one of these is reached. */
  max_bytes: z.int().min(LEAST_BYTES).max(Number.MAX_SAFE_INTEGER).optional(),
  max_packets: z.int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
  max_seconds: z.int().min(1).max(31_536_000).optional(),
});
export type CaptureSettings = z.infer<typeof captureSettings>;

const TURNED = { both: 'both', forward: 'backward', backward: 'forward', in: 'out', out: 'in' } as const;

/** The settings of a capture of a link as the port at its second end has them: what is forward there comes in. */
export function turned(settings: CaptureSettings): CaptureSettings {
  return { ...settings, direction: TURNED[settings.direction ?? 'both'] };
}

/** The name of the file. Refuses (400) a name that is not a single visible component of a path. */
export function captureFileName(wanted: string | undefined, fallback: string): string {
  if (wanted === undefined || wanted === '') return fallback;
  const isPlain = !/[/\\\0]/.test(wanted) && !wanted.startsWith('.');
  if (!isPlain || Buffer.byteLength(wanted) > LONGEST_NAME) throw refusals.captureNameRefused(wanted);
  return wanted;
}

/** The file name that clients expect when they gave none, made of the ends of the captured link. */
export function defaultFileName(ends: readonly string[], format: CaptureSettings['format'] = 'pcap'): string {
  const parts = ends.map((end) => end.replace(/[^0-9A-Za-z_-]/g, '').slice(0, LONGEST_PART));
  return `${parts.join('_to_')}.${format}`;
}

/** Refuses (400) a ring without `max_bytes`, or with too little for its number of files. */
export function checkRing({ files = 1, max_bytes: maxBytes }: CaptureSettings): void {
  if (files === 1) return;
  if (maxBytes === undefined || maxBytes < files * LEAST_BYTES)
    throw refusals.captureRingRefused(files, LEAST_BYTES);
}

/** The names of the files of a ring: a.pcap, a.1.pcap, and so on. */
export function ringName(name: string, number: number): string {
  if (number === 0) return name;
  const extension = extname(name);
  return `${name.slice(0, name.length - extension.length)}.${number}${extension}`;
}
