/** What is said between the HTTP thread and a loop that writes captures. Everything survives a structured clone. */
import type { CaptureMemory } from '../../base/memory/capture-memory.js';
import type { LoopStart } from '../../base/threads/worker-loop.js';

export type RecordFormat = 'pcap' | 'pcapng';

/** What every life of the loop is given. */
export interface WriterLoopOptions {
  readonly memories: readonly CaptureMemory[];
  /** Nothing is written to a disk that has less than so much free. */
  readonly floorBytes: number;
}

export type WriterStart = WriterLoopOptions & LoopStart;

/** Which log goes to which files. */
export interface LogPlan {
  readonly id: number;
  /** Which of the memories, and which log of it. */
  readonly memory: number;
  readonly log: number;
  /** The folder that is never left, and the file's path in it. */
  readonly folder: string;
  readonly name: string;
  readonly format: RecordFormat;
  /** What every file begins with. */
  readonly header: Uint8Array;
  /** How many files there are at most; with more than one, how long each gets, unless one record is longer. */
  readonly files: number;
  readonly fileBytes: number;
}

/** A file, and the position in the log of its first record. */
export interface OpenSegment {
  readonly fd: number;
  readonly start: number;
}

/** Makes the file, with its header, and drains the log to it from the position on. Answered with the file. */
export interface BeginDrain {
  readonly plan: LogPlan;
  readonly position: number;
}

/** Goes on with a log that a loop before this one had. */
export interface AdoptDrain extends BeginDrain {
  readonly segment: OpenSegment;
}

/** Drains what there is, and lets go of the log and its file. */
export interface EndDrain {
  readonly id: number;
}

export type WriterCommand =
  | { readonly task: 'begin'; readonly input: BeginDrain }
  | { readonly task: 'adopt'; readonly input: AdoptDrain }
  | { readonly task: 'end'; readonly input: EndDrain };

export type WriterReport =
  /** The log goes on in a new file. */
  | { readonly kind: 'rotated'; readonly id: number; readonly segment: OpenSegment }
  /** The log is not drained any more. */
  | { readonly kind: 'trouble'; readonly id: number; readonly reason: string };
