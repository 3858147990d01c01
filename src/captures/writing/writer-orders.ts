/** Orders and reports between the HTTP thread and a writer loop. Everything survives a structured clone. */
import type { CaptureMemory } from '../../base/memory/capture-memory.js';
import type { LoopStart } from '../../base/threads/loop-run.js';

export type RecordFormat = 'pcap' | 'pcapng';

export interface WriterSetup {
  readonly memories: readonly CaptureMemory[];
  /** Nothing is written to a disk with fewer free bytes. */
  readonly floorBytes: number;
}

export type WriterStart = WriterSetup & LoopStart;

/** A log, and the files that it goes to. */
export interface LogPlan {
  readonly id: number;
  /** The index of the memory, and of the log in it. */
  readonly memory: number;
  readonly log: number;
  /** The folder that must not be left, and the path of the file below it. */
  readonly folder: string;
  readonly name: string;
  readonly format: RecordFormat;
  /** The bytes that every file begins with. */
  readonly header: Uint8Array;
  /** The number of files; with more than one, the most bytes of each, unless a single record is longer. */
  readonly files: number;
  readonly fileBytes: number;
  /** For a capture that goes on after a gap. */
  readonly earlier?: EarlierFile | undefined;
}

/** The file that a capture goes on in, and the bytes that mark the gap in it. */
interface EarlierFile {
  /** Where its last complete record ends; undefined when the capture goes on in a new file. */
  readonly end: number | undefined;
  readonly mark: Uint8Array;
}

/** A file, and the position of its first record in the log: less than 0 when that was recorded before the log began. */
export interface OpenSegment {
  readonly fd: number;
  readonly start: number;
}

/** Makes the file with its header, and drains the log to it from the position on. The answer is the file. */
export interface BeginDrain {
  readonly plan: LogPlan;
  readonly position: number;
}

/** Goes on with a log of a loop that died. */
export interface AdoptDrain extends BeginDrain {
  readonly segment: OpenSegment;
}

/** Drains the rest of the log, and lets go of it and its file. */
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
