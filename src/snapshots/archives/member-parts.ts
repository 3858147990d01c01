/** Makes the parts of large content: each part by itself, so that threads make them side by side. Runs in worker threads. */
import { crc32 } from 'node:zlib';
import { encodeContent, newHeldStream } from './member-encoding.js';
import type { MemberSums } from './zip-format.js';
import type { MemberBody } from './zip-cursor.js';
import { PlanReader, readContent, type PlannedMember } from './zip-plan.js';

/** A part of a body. */
export interface BodyPart {
  readonly body: MemberBody;
  readonly position: number;
  readonly length: number;
}

export interface PackedPart extends MemberSums {
  /** In the room that was given. */
  readonly bytes: Uint8Array<SharedArrayBuffer>;
}

/** It stays in the processor's cache between reading and summing. */
const READ_LENGTH = 256 * 1024;

/** Compresses a part; only the last one ends the stream. Fails when the content has become shorter. */
export function packPart({
  body,
  position,
  length,
  room,
}: BodyPart & { room: SharedArrayBuffer }): PackedPart {
  const content = part(plannedMemberOf(body), body, position, length);
  const isLast = body.isLast && position + length === body.size;
  const encoded = encodeContent(newHeldStream(), body.compression, content, isLast);
  const bytes = new Uint8Array(room, 0, encoded.length);
  bytes.set(encoded);
  return { bytes, crc32: crc32(content), size: length, compressedSize: bytes.length };
}

/** The CRC-32 of all content before the end of the part; `before` is that of the content before the part. */
export function sumPart({ body, position, length, before }: BodyPart & { before: number }): number {
  const member = plannedMemberOf(body);
  let sum = before;
  for (let done = 0; done < length; done += READ_LENGTH) {
    sum = crc32(part(member, body, position + done, Math.min(READ_LENGTH, length - done)), sum);
  }
  return sum;
}

function part(member: PlannedMember, { roots }: MemberBody, position: number, length: number): Buffer {
  const content = readContent(member, roots, position, length);
  if (content.length < length)
    throw new Error(`${member.path} has become shorter while it was put into an archive`);
  return content;
}

function plannedMemberOf({ plan, line }: MemberBody): PlannedMember {
  const reader = new PlanReader(plan, line);
  try {
    const planned = reader.next();
    if (planned === undefined) throw new Error('the plan of the archive is cut off');
    return planned.member;
  } finally {
    reader.close();
  }
}
