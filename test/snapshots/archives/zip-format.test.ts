import t from 'tap';
import {
  descriptor,
  directoryRecord,
  endRecords,
  isLargeMember,
  localHeader,
  type MemberStart,
} from '../../../src/snapshots/archives/zip-format.js';

const MEMBER: MemberStart = {
  ...{ path: 'ä', kind: 'file', mode: 0o751, compression: 'none', start: 0, isLarge: false },
  modifiedMs: Date.UTC(2026, 10, 22, 10, 20, 31),
};
const SUMS = { crc32: 0x12345678, size: 5, compressedSize: 5 };
const hex = (text: string): string => text.replaceAll(/\s/g, '');

void t.test('an archive with a member', (t) => {
  t.equal(
    localHeader(MEMBER, SUMS).toString('hex'),
    hex('504b0304 1400 0008 0000 8f52 765d 78563412 05000000 05000000 0200 0000 c3a4'),
  );
  t.equal(
    directoryRecord(MEMBER, SUMS, true).toString('hex'),
    hex(`504b0102 3f03 1400 0008 0000 8f52 765d 78563412 05000000 05000000 0200 0000
      0000 0000 0000 0000ed81 00000000 c3a4`),
  );
  t.equal(endRecords(1, 37, 48).toString('hex'), hex('504b0506 0000 0000 0100 0100 30000000 25000000 0000'));
  t.end();
});

void t.test('sums that follow the content', (t) => {
  t.equal(
    localHeader(MEMBER).toString('hex'),
    hex('504b0304 1400 0808 0000 8f52 765d 00000000 00000000 00000000 0200 0000 c3a4'),
  );
  t.equal(descriptor(MEMBER, SUMS).toString('hex'), hex('504b0708 78563412 05000000 05000000'));
  t.equal(directoryRecord(MEMBER, SUMS, false).readUInt16LE(8), 0x0808);
  const large = { ...MEMBER, isLarge: true };
  t.equal(
    localHeader(large).toString('hex'),
    hex(`504b0304 2d00 0808 0000 8f52 765d 00000000 ffffffff ffffffff 0200 1400 c3a4
      0100 1000 0000000000000000 0000000000000000`),
  );
  t.equal(
    descriptor(large, { ...SUMS, size: 2 ** 32 + 1 }).toString('hex'),
    hex('504b0708 78563412 0500000000000000 0100000001000000'),
  );
  t.end();
});

void t.test('flags and versions of the compressions', (t) => {
  const told = (compression: MemberStart['compression']): number[] => {
    const header = localHeader({ ...MEMBER, compression }, SUMS);
    return [4, 6, 8].map((offset) => header.readUInt16LE(offset));
  };
  t.same(told('zip'), [20, 0x800, 8]);
  t.same(told('bzip2'), [46, 0x800, 12]);
  t.same(told('lzma'), [63, 0x802, 14]);
  t.end();
});

void t.test('kinds and modes', (t) => {
  const attributes = (kind: MemberStart['kind'], mode: number): string =>
    directoryRecord({ ...MEMBER, kind, mode }, SUMS, true)
      .readUInt32LE(38)
      .toString(16);
  t.equal(attributes('file', 0o4600), (0o100644 * 65_536).toString(16), 'no set-user-id, and readable');
  t.equal(attributes('folder', 0o700), (0o040755 * 65_536 + 16).toString(16));
  t.equal(attributes('link', 0), (0o120777 * 65_536).toString(16));
  t.match(localHeader({ ...MEMBER, kind: 'folder' }, SUMS).toString(), 'ä/');
  t.end();
});

void t.test('times are limited to the range of the format', (t) => {
  const told = (modifiedMs: number): number[] => {
    const header = localHeader({ ...MEMBER, modifiedMs }, SUMS);
    const [time, date] = [header.readUInt16LE(10), header.readUInt16LE(12)];
    const day = [(date >> 9) + 1980, (date >> 5) & 15, date & 31];
    return [...day, time >> 11, (time >> 5) & 63, (time & 31) * 2];
  };
  t.same(told(Date.UTC(1999, 11, 31, 23, 59, 59)), [1999, 12, 31, 23, 59, 58]);
  for (const early of [0, -1, NaN, -Infinity, Date.UTC(1979, 11, 31)])
    t.same(told(early), [1980, 1, 1, 0, 0, 0]);
  for (const late of [Date.UTC(2108, 0, 1), Infinity, 8.64e15])
    t.same(told(late), [2107, 12, 31, 23, 59, 58]);
  t.end();
});

void t.test('numbers beyond 32 bits', (t) => {
  const extraOf = (start: number, size: number, compressedSize: number): string => {
    const record = directoryRecord({ ...MEMBER, start }, { ...SUMS, size, compressedSize }, true);
    return record.subarray(48).toString('hex');
  };
  t.equal(extraOf(1, 2, 3), '');
  t.equal(extraOf(2 ** 32 - 2, 2, 3), '');
  t.equal(extraOf(2 ** 32 - 1, 2, 3), hex('0100 0800 ffffffff00000000'));
  t.equal(extraOf(1, 2 ** 32, 3), hex('0100 0800 0000000001000000'));
  t.equal(
    extraOf(2 ** 33, 2 ** 32 + 1, 2 ** 32 + 2),
    hex('0100 1800 0100000001000000 0200000001000000 0000000002000000'),
  );
  const record = directoryRecord({ ...MEMBER, start: 2 ** 33 }, SUMS, true);
  t.equal(record.readUInt16LE(6), 45);
  t.equal(record.readUInt32LE(42), 0xffff_ffff);
  t.equal(isLargeMember(3 * 2 ** 30), false);
  t.equal(isLargeMember(2 ** 32 - 2 ** 20), true);
  t.end();
});

void t.test('the end of a large archive', (t) => {
  t.equal(endRecords(65_534, 2 ** 32 - 2, 9).length, 22);
  for (const [count, start, length] of [
    [65_535, 1, 1],
    [1, 2 ** 32 - 1, 1],
    [1, 1, 2 ** 32 - 1],
  ] as const) {
    const end = endRecords(count, start, length);
    t.equal(end.length, 98);
    t.equal(end.readBigUInt64LE(32), BigInt(count));
    t.equal(end.readBigUInt64LE(40), BigInt(length));
    t.equal(end.readBigUInt64LE(48), BigInt(start));
    t.equal(end.readBigUInt64LE(56 + 8), BigInt(start + length), 'where the large end record is');
    t.equal(end.readUInt16LE(76 + 10), count);
  }
  t.equal(
    endRecords(65_535, 2, 3).toString('hex'),
    hex(`504b0606 2c00000000000000 3f03 2d00 00000000 00000000 ffff000000000000 ffff000000000000
      0300000000000000 0200000000000000
      504b0607 00000000 0500000000000000 01000000
      504b0506 0000 0000 ffff ffff 03000000 02000000 0000`),
  );
  t.end();
});
