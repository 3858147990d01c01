/**
 * The CRC-32 of AAL5 (ITU-T I.363.5): x^32 + x^26 + ... + 1, most significant bit first, starting with ones and sent
 * complemented. It takes sixteen octets per step: table n holds the contribution of an octet n octets later.
 */
const POLYNOMIAL = 0x04c1_1db7;
export const CRC32_START = -1;
/** The result over a message that ends with its correct CRC. */
export const CRC32_CORRECT = 0xc704_dd7b | 0;

const TABLES = makeTables();

function makeTables(): Int32Array {
  const tables = new Int32Array(16 * 256);
  for (let octet = 0; octet < 256; octet++) {
    let crc = octet << 24;
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc < 0 ? POLYNOMIAL : 0);
    tables[octet] = crc;
  }
  for (let index = 256; index < tables.length; index++) {
    const before = tables[index - 256] ?? 0;
    tables[index] = (before << 8) ^ (tables[before >>> 24] ?? 0);
  }
  return tables;
}

/** Continues a CRC over a stretch whose length is a multiple of four. */
export function crc32(crc: number, view: DataView, offset: number, length: number): number {
  let sum = crc;
  let at = offset;
  for (const last = offset + length - 16; at <= last; at += 16) {
    sum =
      contribution(sum ^ view.getInt32(at), 3) ^
      contribution(view.getInt32(at + 4), 2) ^
      contribution(view.getInt32(at + 8), 1) ^
      contribution(view.getInt32(at + 12), 0);
  }
  for (const end = offset + length; at < end; at += 4) sum = contribution(sum ^ view.getInt32(at), 0);
  return sum;
}

/** The contribution of a word to the CRC, `later` words later. */
function contribution(word: number, later: number): number {
  const table = later << 10;
  return (
    (TABLES[(table + 768) | (word >>> 24)] ?? 0) ^
    (TABLES[(table + 512) | ((word >>> 16) & 0xff)] ?? 0) ^
    (TABLES[(table + 256) | ((word >>> 8) & 0xff)] ?? 0) ^
    (TABLES[table | (word & 0xff)] ?? 0)
  );
}
