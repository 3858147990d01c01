/**
 * Opens what ports are attached to, on the HTTP thread: descriptors belong to the thread that never dies, so a
 * restarted engine finds its sockets with everything that has been received meanwhile.
 */
import type { PortEndpoint } from '../forwarding/transport.js';

/** Of each socket, where the host allows it: bursts wait here while an engine is busy or restarts. */
export const RECEIVE_BUFFER = 4 * 1024 * 1024;

/** What can be attached to. Hosts are addresses, not names. */
export type Attachable =
  | {
      readonly type: 'udp';
      readonly localHost: string;
      readonly localPort: number;
      readonly remoteHost: string;
      readonly remotePort: number;
    }
  | { readonly type: 'tap'; readonly device: string }
  | { readonly type: 'packet'; readonly device: string }
  | { readonly type: 'unix'; readonly localFile: string; readonly remoteFile: string }
  | { readonly type: 'null' };

/** Why something could not be opened, in words for the client; the code is that of the failed system call, if there was one. */
export class OpenError extends Error {
  override readonly name = 'OpenError';

  constructor(
    message: string,
    readonly code?: string,
  ) {
    super(message);
  }
}

export interface Opener {
  /** Throws OpenError. */
  open(wanted: Attachable): PortEndpoint;
  /** After the engine has let go of it. */
  close(endpoint: PortEndpoint): void;
  /** Whether a UDP port could be bound just now. */
  isFree(port: number): Promise<boolean>;
  /** How much of RECEIVE_BUFFER the host grants to a socket. */
  grantedBuffer(): Promise<number>;
  /** Frames that the kernel threw away because the engine did not fetch them in time. */
  lost(endpoint: PortEndpoint): number;
}
