/** Live packets of a lab: its links by name, and the stream of what passes them. */
import type { ProjectShape } from '../../api/shapes/projects.js';
import { quoted, RefusedCall, segment, UnansweredCall, type Call } from './call.js';

interface LabLinks {
  readonly nodes: readonly { readonly name: string }[];
  readonly links: readonly {
    readonly link_id: string;
    readonly ends: readonly (readonly [node: number, adapter: number, port: number])[];
  }[];
}

export interface PacketSelection {
  /** Ids; none for all links. */
  readonly links: readonly string[];
  readonly bpf: string;
  /** The octets that are kept of each packet; 0 for all. */
  readonly snaplen: number;
}

const lab = (id: string): string => `v2/projects/${segment(id)}`;

export const showLab = (id: string): Call<ProjectShape> => ({ method: 'GET', path: lab(id) });

export const showLinks = (id: string): Call<LabLinks> => ({ method: 'GET', path: `${lab(id)}/map` });

function queryOf({ links, bpf, snaplen }: PacketSelection): string {
  const query = new URLSearchParams();
  if (links.length > 0) query.set('links', links.join(','));
  if (bpf !== '') query.set('bpf', bpf);
  if (snaplen > 0) query.set('snaplen', String(snaplen));
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** The address of the stream, for a download that ends with the lab. */
export const packetFile = (id: string, selection: PacketSelection): string =>
  `${lab(id)}/pcap${queryOf(selection)}`;

/** The line for a terminal that gives a program what the address has. */
export const pipedLine = (url: string, program: string): string => `curl -sN ${quoted(url)} | ${program}`;

/** The address of the stream, for a WebSocket. */
export function packetStream(id: string, selection: PacketSelection): string {
  const url = new URL(`${lab(id)}/pcap/ws${queryOf(selection)}`, document.baseURI);
  url.protocol = url.protocol.replace('http', 'ws');
  return url.href;
}

/** Asks for the stream and leaves it: a WebSocket does not tell why it is refused. Throws RefusedCall. */
export async function checkPackets(id: string, selection: PacketSelection): Promise<void> {
  const leave = new AbortController();
  const init = { headers: { 'X-Wirefarm-Client': 'console' }, signal: leave.signal };
  const reply = await fetch(packetFile(id, selection), init).catch((error: unknown) => {
    throw new UnansweredCall('', { cause: error });
  });
  if (reply.ok) {
    leave.abort();
    return;
  }
  const { code, message } = (await reply.json().catch(() => ({}))) as { code?: unknown; message?: unknown };
  throw new RefusedCall(
    reply.status,
    typeof code === 'string' ? code : '',
    typeof message === 'string' ? message : `HTTP ${reply.status}`,
  );
}
