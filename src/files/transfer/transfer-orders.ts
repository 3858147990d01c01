/** What is said between the HTTP thread and a loop that writes uploads. Everything survives a structured clone. */
import type { LoopRings } from '../../base/memory/transfer-memory.js';
import type { TaskFailure } from '../../base/threads/task.js';
import type { Content, DigestName, Landing } from './landing.js';

export interface TransferLoopOptions {
  readonly slabs: SharedArrayBuffer;
  readonly rings: LoopRings;
}

interface StreamInput {
  /** What the stream is called in the rings until it is finished or dropped. */
  readonly stream: number;
  readonly digests: readonly DigestName[];
}

/** Makes a file that gets the bytes of the stream. */
export interface BeginStream extends StreamInput {
  readonly place: FilePlace;
  /** As the client says. */
  readonly size: number | undefined;
  readonly mode: number;
}

export type FilePlace = Pick<Landing, 'root' | 'folder' | 'path' | 'makesFolders' | 'temporary'>;

/** What worker threads need of a landing. */
export function placeOf({ root, folder, path, makesFolders, temporary }: Landing): FilePlace {
  return { root, folder, path, makesFolders, temporary };
}

/** Appends the bytes of the stream to a file, of which nothing is kept behind the position. */
export interface AppendStream extends StreamInput {
  readonly path: string;
  readonly position: number;
  /** Of the whole. */
  readonly size: number;
}

/** What is written, and where it lies. */
export interface OpenPart {
  readonly fd: number;
  readonly path: string;
}

export interface StreamName {
  readonly stream: number;
}

/** Everything has been written. */
export interface Written {
  readonly content: Content;
  /** Set when the target had this very content while it was compared: its version before that. It may have changed. */
  readonly unchanged: string | undefined;
}

export type TransferReport =
  /** There is something in the ring `done`. */
  | { readonly kind: 'done' }
  /** Nothing of the stream is written any more. */
  | { readonly kind: 'trouble'; readonly stream: number; readonly failure: TaskFailure };
