/** Capture files of every kind, made octet by octet. */

export interface SamplePacket {
  readonly ms: number;
  readonly length: number;
}

export function pcapFile(
  packets: readonly SamplePacket[],
  { isLittle = true, isNano = true, linkType = 1 } = {},
): Buffer {
  const header = Buffer.alloc(24);
  const put = (target: Buffer, value: number, offset: number): void => {
    if (isLittle) target.writeUInt32LE(value, offset);
    else target.writeUInt32BE(value, offset);
  };
  put(header, isNano ? 0xa1b2_3c4d : 0xa1b2_c3d4, 0);
  put(header, 262_144, 16);
  put(header, linkType, 20);
  const records = packets.map(({ ms, length }) => {
    const record = Buffer.alloc(16 + length, 7);
    put(record, Math.floor(ms / 1000), 0);
    put(record, (ms % 1000) * (isNano ? 1e6 : 1e3), 4);
    put(record, length, 8);
    put(record, length + 10, 12);
    return record;
  });
  return Buffer.concat([header, ...records]);
}

/** One block of a pcapng file. */
export function block(type: number, body: Buffer, isLittle = true): Buffer {
  const padded = Buffer.concat([body, Buffer.alloc((4 - (body.length % 4)) % 4)]);
  const ends = Buffer.alloc(12);
  for (const [value, offset] of [
    [type, 0],
    [padded.length + 12, 4],
    [padded.length + 12, 8],
  ] as const) {
    if (isLittle) ends.writeUInt32LE(value, offset);
    else ends.writeUInt32BE(value, offset);
  }
  return Buffer.concat([ends.subarray(0, 8), padded, ends.subarray(8)]);
}

export function words(values: readonly number[], isLittle = true): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => {
    if (isLittle) bytes.writeUInt32LE(value, index * 4);
    else bytes.writeUInt32BE(value, index * 4);
  });
  return bytes;
}
