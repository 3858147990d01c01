/** The bytes that one request brings, as an upload sees them. */
import type { Throttle } from '../transfer/slab-stream.js';

export interface UploadBody {
  /** As the client says; undefined when it does not. */
  readonly length: number | undefined;
  readonly throttle: Throttle;
  /** The address that it comes from. */
  readonly client: string;
  /**
   * Gives the sink everything, within its calls, until the body ends. Rejects with what the sink throws or `failure`
   * rejects with, and when the client has gone or sends nothing for too long; nothing is given after that.
   */
  into(sink: { write(bytes: Uint8Array): void }, failure: Promise<never>): Promise<void>;
}
