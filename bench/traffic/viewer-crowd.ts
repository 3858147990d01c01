/** Clients that watch captures, all of them in one process of their own, each on a connection of its own. */
import { Program } from './program.js';

export interface CrowdPlan {
  /** The URLs of pcap streams, one for each viewer. */
  readonly urls: readonly string[];
  /** Octets are only counted; of records the numbers and times are looked at. */
  readonly reads: 'octets' | 'records';
  /** Where the tag of traffic/frame-tag.ts lies in a packet. */
  readonly tagAt: number;
}

export interface CrowdReport {
  readonly viewers: readonly {
    /** Without the header of the stream. */
    readonly octets: number;
    readonly packets: number;
    /** Frames that came before one that had been numbered before them, or never. */
    readonly missing: number;
  }[];
  /** When the last octet came, by `monotonicMs`. */
  readonly lastAt: number;
  /** The CPU time of the viewers themselves, since they watch. */
  readonly cpuSeconds: number;
  /** From sent to arrived at a viewer, in milliseconds. */
  readonly latency50: number;
  readonly latency99: number;
}

export class ViewerCrowd {
  readonly #program: Program;

  private constructor(program: Program) {
    this.#program = program;
  }

  /** When it resolves, all of them have the header of their stream. */
  static async start(plan: CrowdPlan): Promise<ViewerCrowd> {
    const program = Program.start('viewer-program', plan);
    await program.report();
    return new ViewerCrowd(program);
  }

  /** Comes when all streams have ended. */
  report(): Promise<CrowdReport> {
    return this.#program.report();
  }
}
