/**
 * Opens the sockets that ports are attached to, on the HTTP thread. Descriptors belong to the thread that never dies, so
 * a restarted engine finds its sockets with everything that was received meanwhile.
 */
import type { PortEndpoint } from '../forwarding/transport.js';

/** The receive buffer of each socket, where the host allows it: bursts wait here while an engine is busy or restarts. */
export const RECEIVE_BUFFER = 4 * 1024 * 1024;

/** The things that a port can be attached to. Hosts are addresses, not names. */
export type Attachable =
  | {
      readonly type: 'udp';
      readonly localHost: string;
      readonly localPort: number;
      readonly remoteHost: string;
      readonly remotePort: number;
    }
  | { readonly type: 'tap'; readonly device: string }
  /** A new TAP that is a port of the bridge until it is closed. In its name, `%d` becomes the lowest free number. */
  | { readonly type: 'bridge'; readonly device: string; readonly tap: string }
  | { readonly type: 'packet'; readonly device: string }
  | {
      readonly type: 'unix';
      readonly localFile: string;
      readonly remoteFile: string;
      /** The remote socket may come and go while the port is attached, and need not be there yet. */
      readonly isLoose?: true;
    }
  /** A socket to which the program around a guest connects, to share this many octets of memory at most. */
  | { readonly type: 'vhost-user'; readonly path: string; readonly mostMemory: number }
  | { readonly type: 'null' };

/** An endpoint could not be opened. The message is meant for the client; the code is that of the failed system call. */
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
  /** Call after the engine has let go of the endpoint. */
  close(endpoint: PortEndpoint): void;
  /** Lets the interface of a TAP have a carrier, or not, wherever it was moved. Throws OpenError. */
  setCarrier(tap: PortEndpoint, isThere: boolean): void;
  /** Resolves with the reason when the guest at the endpoint is cut off for the first time; undefined when it never was. */
  guestFault(endpoint: PortEndpoint): Promise<string | undefined>;
  /** Whether a UDP port can be bound now. */
  isFree(port: number): Promise<boolean>;
  /** The descriptor of a UDP socket whose datagrams arrive in one piece or not at all, on Linux. Throws OpenError. */
  readonly openUncut?: (host: string, port: number) => number;
  /** The MTU towards a host, as far as Linux knows. */
  readonly routeMtu?: (host: string) => number | undefined;
  /** The receive buffer that the host grants to a socket, at most RECEIVE_BUFFER. */
  grantedBuffer(): Promise<number>;
  /** The number of frames that the kernel dropped because the engine did not fetch them in time. */
  lost(endpoint: PortEndpoint): number;
}
