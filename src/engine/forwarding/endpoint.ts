/** Where a port is attached, as the HTTP thread hands it to an engine. */

/** The two ends of a UDP attachment, each as `host:port`. */
interface UdpEnds {
  readonly local: string;
  readonly remote: string;
}

/** A descriptor that the HTTP thread has opened: it outlives the engine, and is closed after the engine let go. */
export interface OpenEndpoint extends Partial<UdpEnds> {
  readonly type: 'udp' | 'unix' | 'packet' | 'tap';
  readonly descriptor: number;
}

/** A UDP socket that the engine opens itself, where descriptors cannot be handed over. */
export interface UdpEndpoint extends UdpEnds {
  readonly type: 'udp-address';
  readonly localHost: string;
  readonly localPort: number;
  readonly remoteHost: string;
  readonly remotePort: number;
}

export type Endpoint = OpenEndpoint | UdpEndpoint | { readonly type: 'null' };

export function udpEnds(endpoint: Endpoint): UdpEnds | undefined {
  if (endpoint.type === 'null' || endpoint.local === undefined || endpoint.remote === undefined)
    return undefined;
  return { local: endpoint.local, remote: endpoint.remote };
}
