/** The beginning of an ELF file, as far as it says whether this host can run it. */

/** So many bytes of a file are enough. */
export const ELF_HEAD = 4096;

const MAGIC = 0x7f454c46;
const LITTLE_ENDIAN = 1;
const VERSION = 1;
const INTERPRETER = 3;
const LONGEST_PATH = 255;
const MOST_HEADERS = 64;
/** Where the fields are, by the class of the file: 32 or 64 bits. */
const FIELDS = {
  1: { headers: 28, headerSize: 42, headerCount: 44, offset: 4, length: 16, isLong: false },
  2: { headers: 32, headerSize: 54, headerCount: 56, offset: 8, length: 32, isLong: true },
} as const;

interface ElfFacts {
  readonly bits: 32 | 64;
  /** The path of the program that loads it; undefined when it needs none. */
  readonly interpreter: string | undefined;
}

/** Returns undefined unless the file is an ELF program for a processor of a PC. */
export function elfFacts(head: Buffer): ElfFacts | undefined {
  if (head.length < 64 || head.readUInt32BE(0) !== MAGIC) return undefined;
  const kind = head[4];
  if ((kind !== 1 && kind !== 2) || head[5] !== LITTLE_ENDIAN || head[6] !== VERSION) return undefined;
  const fields = FIELDS[kind];
  const long = (at: number): number =>
    fields.isLong ? Number(head.readBigUInt64LE(at)) : head.readUInt32LE(at);
  const first = long(fields.headers);
  const size = head.readUInt16LE(fields.headerSize);
  const count = Math.min(head.readUInt16LE(fields.headerCount), MOST_HEADERS);
  let interpreter: string | undefined;
  for (let index = 0; index < count; index++) {
    const at = first + index * size;
    if (at + 56 > head.length) break;
    if (head.readUInt32LE(at) !== INTERPRETER) continue;
    const [offset, length] = [long(at + fields.offset), long(at + fields.length)];
    if (length < 2 || length > LONGEST_PATH || offset + length > head.length) break;
    interpreter = head.toString('latin1', offset, offset + length - 1);
  }
  return { bits: kind === 1 ? 32 : 64, interpreter };
}
