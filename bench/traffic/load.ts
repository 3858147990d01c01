/** The order for a generator, and its result. */
export interface Load {
  /** Sends from here to there, and takes back what comes out here. */
  readonly localPort: number;
  readonly toPort: number;
  readonly receivePort: number;
  /** Octets of a frame, and its first octets in hexadecimal, sent and expected. */
  readonly size: number;
  readonly sendHeader: string;
  readonly expectHeader: string;
  /** Frames a second; 0 for as many as possible. */
  readonly rate: number;
  readonly seconds: number;
  /** Frames that are sent as one run; up to 1 for single datagrams. */
  readonly segments: number;
  /** Whether runs are received as runs. */
  readonly gathers: boolean;
  readonly cpu?: number;
}

export interface LoadResult {
  readonly sent: number;
  readonly received: number;
  readonly wrong: number;
  readonly duplicates: number;
  readonly reordered: number;
  readonly loss: number;
  readonly receivedPerSecond: number;
  /** Microseconds. */
  readonly latency1: number;
  readonly latency50: number;
  readonly latency99: number;
}
