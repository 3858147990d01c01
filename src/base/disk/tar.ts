/**
 * The headers of a tar archive in the ustar format. A path or a size (over 8 GiB) that does not fit its field goes into
 * an extended header (pax) before the plain one.
 */

export const TAR_BLOCK = 512;
/** An archive ends with so many zeros. */
export const TAR_END = 2 * TAR_BLOCK;

interface TarMember {
  /** A relative path with slashes; that of a folder ends with a slash. */
  readonly path: string;
  /** The size of a folder is 0. */
  readonly size: number;
  readonly modifiedMs: number;
  readonly isExecutable?: boolean;
}

const FIELD = {
  name: [0, 100],
  mode: [100, 8],
  owner: [108, 8],
  group: [116, 8],
  size: [124, 12],
  modified: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  magic: [257, 8],
} as const;
type Field = (typeof FIELD)[keyof typeof FIELD];

const REGULAR = '0';
const FOLDER = '5';
const EXTENDED = 'x';
const PLAIN_MODE = 0o644;
/** The mode of folders and of programs. */
const EXECUTABLE_MODE = 0o755;
const LARGEST_SIZE = 0o777_7777_7777;

/** The bytes that stand before the content of a member. */
export function tarHeader(member: TarMember): Uint8Array {
  const { path, size, modifiedMs } = member;
  const name = bytesOf(path);
  const fits = name.length <= FIELD.name[1] && size <= LARGEST_SIZE;
  const type = path.endsWith('/') ? FOLDER : REGULAR;
  const mode = type === FOLDER || member.isExecutable === true ? EXECUTABLE_MODE : PLAIN_MODE;
  const plain = header({ type, mode, name, size: Math.min(size, LARGEST_SIZE), modifiedMs });
  if (fits) return plain;
  const records = bytesOf(record('path', path) + record('size', String(size)));
  const extended = header({
    type: EXTENDED,
    mode: PLAIN_MODE,
    name: bytesOf('PaxHeaders/member'),
    size: records.length,
    modifiedMs,
  });
  const all = new Uint8Array(2 * TAR_BLOCK + records.length + tarPadding(records.length));
  all.set(extended);
  all.set(records, TAR_BLOCK);
  all.set(plain, all.length - TAR_BLOCK);
  return all;
}

/** The number of zeros that follow a content of this size. */
export function tarPadding(size: number): number {
  return (TAR_BLOCK - (size % TAR_BLOCK)) % TAR_BLOCK;
}

interface HeaderFields {
  readonly type: string;
  readonly mode: number;
  readonly name: Uint8Array;
  readonly size: number;
  readonly modifiedMs: number;
}

function header({ type, mode, name, size, modifiedMs }: HeaderFields): Uint8Array {
  const block = new Uint8Array(TAR_BLOCK);
  block.set(name.subarray(0, FIELD.name[1]), FIELD.name[0]);
  writeOctal(block, FIELD.mode, mode);
  writeOctal(block, FIELD.owner, 0);
  writeOctal(block, FIELD.group, 0);
  writeOctal(block, FIELD.size, size);
  writeOctal(block, FIELD.modified, Math.min(Math.max(0, Math.floor(modifiedMs / 1000)), LARGEST_SIZE));
  writeText(block, FIELD.type, type);
  writeText(block, FIELD.magic, 'ustar\x0000');
  // The sum is computed as if its own field held spaces.
  writeText(block, FIELD.checksum, ' '.repeat(FIELD.checksum[1]));
  const sum = block.reduce((total, byte) => total + byte, 0);
  writeText(block, FIELD.checksum, `${sum.toString(8).padStart(6, '0')}\0 `);
  return block;
}

/** Writes a number, of which the last byte of the field stays zero. */
function writeOctal(block: Uint8Array, field: Field, value: number): void {
  writeText(block, field, value.toString(8).padStart(field[1] - 1, '0'));
}

function writeText(block: Uint8Array, [offset]: Field, text: string): void {
  block.set(bytesOf(text), offset);
}

/** A record begins with its own length, which includes the digits of that length. */
function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const length = bytesOf(rest).length;
  let whole = length;
  while (whole !== length + String(whole).length) whole = length + String(whole).length;
  return `${whole}${rest}`;
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
