/**
 * Where everything is in an archive of stored members, before any content is read: such an archive has a known length, and
 * a tag that changes with its content. Runs in worker threads.
 */
import { createHash, type Hash } from 'node:crypto';
import {
  descriptor,
  directoryRecord,
  endRecords,
  isLargeMember,
  localHeader,
  type MemberStart,
} from './zip-format.js';
import type { Compression } from './zip-member.js';
import { contentSize, plannedPath, PlanReader, type PlannedMember, type PlanRoots } from './zip-plan.js';

/** Content up to this length is read at once, and its sums stand before it. */
export const WHOLE = 512 * 1024;
/** Compression does not shorten shorter content. */
const SHORTEST_COMPRESSED = 64;
/** Change it when archives of the same members get other bytes. */
const LAYOUT = 'wirefarm archive 1\n';

export interface ArchiveLayout {
  readonly size: number;
  /** Archives with the same tag have the same bytes. */
  readonly tag: string;
}

/** The facts before the content of this member, whose local header begins at `start`. */
export function memberStart(member: PlannedMember, compression: Compression, start: number): MemberStart {
  const size = contentSize(member);
  const isPacked = member.kind === 'file' && (size ?? Infinity) >= SHORTEST_COMPRESSED;
  const isLarge = size === undefined || isLargeMember(size);
  return { ...member, compression: isPacked ? compression : 'none', start, isLarge };
}

/** Content of an unknown size never goes in at once. */
export function isWhole(member: PlannedMember): boolean {
  const size = contentSize(member);
  return size !== undefined && size <= WHOLE;
}

/** All files of the plan must have versions. */
export function layoutOf(plan: string, roots: PlanRoots): ArchiveLayout {
  const hash = createHash('sha256').update(LAYOUT);
  const size = measured(plan, roots, hash);
  return { size, tag: hash.digest('base64url') };
}

function measured(plan: string, roots: PlanRoots, hash: Hash, isInner = false): number {
  const reader = new PlanReader(plan, 0);
  let [position, directory, members] = [0, 0, 0];
  try {
    for (let line = reader.next(); line !== undefined; line = reader.next()) {
      const { member } = line;
      const { content } = member;
      if (isInner && content !== undefined && 'archive' in content)
        throw new Error('the plan of the archive is nested too deep');
      const start = memberStart(member, 'none', position);
      hash.update(identityOf(member));
      const size =
        content !== undefined && 'archive' in content
          ? measured(plannedPath(roots, content.archive), roots, hash, true)
          : (contentSize(member) ?? 0);
      const sums = { crc32: 0, size, compressedSize: size };
      const isKnown = isWhole(member);
      const header = localHeader(start, isKnown ? sums : undefined);
      const record = directoryRecord(start, sums, isKnown);
      hash.update(header).update(record);
      position += header.length + size + (isKnown ? 0 : descriptor(start, sums).length);
      directory += record.length;
      members++;
    }
  } finally {
    reader.close();
  }
  return position + directory + endRecords(members, position, directory).length;
}

/** A text that another content of the member does not have; times and names are in its records. */
function identityOf({ content, version }: PlannedMember): string {
  if (content === undefined || 'archive' in content) return '\n';
  if ('text' in content) return `${JSON.stringify(content.text)}\n`;
  if ('stored' in content) return `${JSON.stringify(content.stored.extents)}\n`;
  if (version === undefined) throw new Error('the plan of the archive has a file of an unknown version');
  return `${JSON.stringify(version)}\n`;
}
