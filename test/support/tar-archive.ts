/** Tar archives made block by block, with what no tar program would make, too. */

export interface MadeMember {
  readonly path: string | Uint8Array;
  readonly content?: string | Uint8Array;
  /** The size in the header; by default the length of the content. */
  readonly size?: number;
  readonly type?: string;
  /** The target of a link. */
  readonly target?: string;
  readonly pax?: Readonly<Record<string, string>>;
  /** As GNU tar writes it, before the member. */
  readonly longName?: string;
}

const BLOCK = 512;
export const TAR_ZEROS = Buffer.alloc(2 * BLOCK);

export function tarArchive(
  members: readonly (readonly [path: string, content: string | Uint8Array])[],
): Buffer {
  const made = members.map(([path, content]) =>
    tarMember(path.endsWith('/') ? { path, type: '5' } : { path, content }),
  );
  return Buffer.concat([...made, TAR_ZEROS]);
}

export function tarMember(member: MadeMember): Buffer {
  const { path, content = '', type = '0', target = '', pax, longName } = member;
  const bytes = Buffer.from(content);
  const before = [
    ...(longName === undefined ? [] : [block('././@LongLink', Buffer.from(`${longName}\0`), 'L')]),
    ...(pax === undefined ? [] : [block('PaxHeaders/x', paxRecords(pax), 'x')]),
  ];
  return Buffer.concat([...before, block(path, bytes, type, target, member.size)]);
}

function block(
  path: string | Uint8Array,
  content: Buffer,
  type: string,
  target = '',
  size = content.length,
): Buffer {
  const header = Buffer.alloc(BLOCK);
  header.set(Buffer.from(path).subarray(0, 100), 0);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  header.write(`${(1_700_000_000).toString(8)}\0`, 136);
  header.write(' '.repeat(8), 148);
  header.write(type, 156);
  header.write(target, 157);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, octet) => total + octet, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
  return Buffer.concat([header, content, padding]);
}

function paxRecords(pax: Readonly<Record<string, string>>): Buffer {
  const records = Object.entries(pax).map(([key, value]) => {
    const rest = Buffer.from(` ${key}=${value}\n`);
    let { length } = rest;
    while (length !== rest.length + String(length).length) length = rest.length + String(length).length;
    return Buffer.concat([Buffer.from(String(length)), rest]);
  });
  return Buffer.concat(records);
}
