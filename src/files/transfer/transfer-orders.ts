/** Orders and reports between the HTTP thread and a transfer loop. Everything survives a structured clone. */
import type { LoopRings } from '../../base/memory/transfer-memory.js';
import type { LoopStart } from '../../base/threads/loop-run.js';
import type { TaskFailure } from '../../base/threads/task.js';
import type { Content, DigestName, Landing } from './landing.js';

export interface TransferLoopOptions {
  readonly slabs: SharedArrayBuffer;
  readonly rings: LoopRings;
}

export interface TransferSetup extends TransferLoopOptions {
  /** How many bytes of the disk are left free; undefined for the default. */
  readonly floor: number | undefined;
}

export type TransferStart = TransferSetup & LoopStart;

interface DigestStream {
  /** The number of the stream in the rings until it is finished or dropped. */
  readonly stream: number;
  readonly digests: readonly DigestName[];
}

/** The file of an upload that comes in several requests, and how much of it has come before. */
export interface DigestedPart {
  readonly path: string;
  readonly position: number;
}

/** Computes digests of the bytes of the stream, or of the whole part that they continue. */
export interface BesideStream extends DigestStream {
  readonly part?: DigestedPart | undefined;
}

/** Makes a file for the bytes of the stream. */
export interface BeginStream extends DigestStream {
  readonly place: FilePlace;
  /** The size that the client has given. */
  readonly size: number | undefined;
  readonly mode: number;
}

export type FilePlace = Pick<Landing, 'root' | 'folder' | 'path' | 'makesFolders' | 'temporary'>;

/** The part of a landing that worker threads need. */
export function placeOf({ root, folder, path, makesFolders, temporary }: Landing): FilePlace {
  return { root, folder, path, makesFolders, temporary };
}

/** Appends the bytes of the stream to a file, after cutting it at the position. */
export interface AppendStream extends DigestStream {
  readonly path: string;
  readonly position: number;
  /** The size of the whole upload. */
  readonly size: number;
}

export interface OpenPart {
  readonly fd: number;
  readonly path: string;
}

export interface StreamName {
  readonly stream: number;
}

/** The result of a finished stream. */
export interface Written {
  readonly content: Content;
  /** The version, before the comparison, of a target that had the same content. It may have changed since. */
  readonly unchanged: string | undefined;
}

export type TransferReport =
  /** There is something in the ring `done`. */
  | { readonly kind: 'done' }
  /** Nothing more of the stream is written. */
  | { readonly kind: 'trouble'; readonly stream: number; readonly failure: TaskFailure };
