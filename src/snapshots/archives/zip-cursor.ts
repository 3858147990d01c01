/** How far a zip archive is made. Between two pieces nothing else is held; any thread makes the next one. Pure. */
import type { HeldStream } from './member-encoding.js';
import { joinedCrc32 } from './joined-crc.js';
import type { MemberSums } from './zip-format.js';
import type { Compression } from './zip-member.js';
import type { PlannedPath, PlanRoots } from './zip-plan.js';

/** A member that is partly written. */
export interface OpenMember extends MemberSums {
  /** Its position in the plan. */
  readonly line: number;
  /** The position of its local header in the archive. */
  readonly start: number;
  readonly inner: ZipCursor | undefined;
  /** The version of the file whose content is a body: it must be the same at the end. */
  readonly version: string | undefined;
}

/** Its size does not grow; a structured clone works as well. */
export interface ZipCursor {
  readonly plan: string;
  readonly roots: PlanRoots;
  /** Whether this archive is a member of another one. */
  readonly isInner: boolean;
  readonly compression: Compression;
  /** The large content that is left to the caller, as bodies. */
  readonly bodies: 'none' | 'files' | 'all';
  readonly held: HeldStream;
  /** The position of the next member in the plan. */
  readonly line: number;
  readonly open: OpenMember | undefined;
  /** The length of the archive so far. */
  readonly position: number;
  readonly members: number;
  /** The length of the central directory so far. */
  readonly directory: number;
  /** How much of the central directory is in the archive. */
  readonly sent: number;
}

/** The large content of one member, which the caller puts into the archive behind a piece, in parts or as a file. */
export interface MemberBody {
  readonly plan: string;
  readonly roots: PlanRoots;
  /** The position of the member in the plan. */
  readonly line: number;
  readonly size: number;
  /** The file that has the content, if one has. */
  readonly file: PlannedPath | undefined;
  /** How it goes into the archive. */
  readonly compression: Compression;
  /** Whether the compressed stream ends with it. */
  readonly isLast: boolean;
}

export interface ZipPiece {
  /** In the room that was given, if they fit into it. Empty only if the archive is complete. */
  readonly bytes: Uint8Array;
  /** It follows the bytes; the next piece follows it, made by the cursor `afterBody`. */
  readonly body: MemberBody | undefined;
  /** Undefined after the last piece. */
  readonly cursor: ZipCursor | undefined;
  /** In words: which files were left out. */
  readonly warnings: readonly string[];
}

/** The cursor behind a body with these sums. */
export function afterBody(cursor: ZipCursor, sums: MemberSums): ZipCursor {
  const { open, position } = cursor;
  if (open === undefined) throw new RangeError('no member of the archive is open');
  const changed: OpenMember = {
    ...open,
    // Nothing is compressed within the inner archive.
    inner: open.inner && afterBody(open.inner, { ...sums, compressedSize: sums.size }),
    crc32: joinedCrc32(open.crc32, sums.crc32, sums.size),
    size: open.size + sums.size,
    compressedSize: open.compressedSize + sums.compressedSize,
  };
  return { ...cursor, position: position + sums.compressedSize, open: changed };
}
