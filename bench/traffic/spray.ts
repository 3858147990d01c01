/** Traffic from one socket to many: as many flows as ports, in turn, each numbered by itself. */
import { Program } from './program.js';

export interface SprayPlan {
  readonly localPort: number;
  readonly toPorts: readonly number[];
  /** Octets of a frame, and its first octets in hexadecimal; the tag of traffic/frame-tag.ts follows. */
  readonly size: number;
  readonly header: string;
  /** Frames a second, all flows together; 0 for as many as possible. */
  readonly rate: number;
  readonly seconds: number;
  /** Frames of one flow that are sent as one run. */
  readonly segments: number;
}

/** How many frames each flow had. */
export function spray(plan: SprayPlan): Promise<readonly number[]> {
  return Program.start('spray-program', plan).report();
}
