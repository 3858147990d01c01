/** The place where a console is found, and what opens it. All of it comes from elsewhere, and may be anything. */
import type { NodeShape } from '../../api/shapes/nodes.js';

type ConsoleFacts = Pick<NodeShape, 'console' | 'console_host' | 'console_type' | 'properties'>;

interface ConsolePlace {
  readonly kind: string;
  /** Host and port. */
  readonly at: string;
  /** The address that a browser opens, by itself for pages and with another program for all else. */
  readonly url: string;
  /** The text of a file for remote-viewer, without anything secret; undefined for pages and text. */
  readonly viewerFile: string | undefined;
  /** Whether it listens for the server's own host alone, and the browser runs on another one. */
  readonly isFar: boolean;
}

/** Addresses that mean all of a host's own. */
const EVERYWHERE = ['0.0.0.0', '::', ''];
const LOOPBACK = /^(localhost|127\.[\d.]+|::1)$/;
const PAGES = ['http', 'https'];

/** `serverHost` is the host in the address of the page. Undefined for a console of no kind, or without a port. */
export function consolePlace(node: ConsoleFacts, serverHost: string): ConsolePlace | undefined {
  const { console: port, console_host: told, console_type: kind } = node;
  if (port === null || kind === null || kind === 'none') return undefined;
  const server = serverHost.replace(/^\[(.*)\]$/, '$1');
  const host = EVERYWHERE.includes(told) ? server : oneLine(told);
  const at = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const scheme = kind === 'spice+agent' ? 'spice' : kind;
  const isPage = PAGES.includes(kind);
  return {
    kind,
    at,
    url: `${scheme}://${at}${isPage ? pathOf(node.properties['console_http_path']) : ''}`,
    viewerFile:
      isPage || kind === 'telnet' ? undefined : `[virt-viewer]\ntype=${scheme}\nhost=${host}\nport=${port}\n`,
    isFar: LOOPBACK.test(host) && !LOOPBACK.test(server),
  };
}

/** Without its slash it would be read as a part of the host. */
function pathOf(path: unknown): string {
  const text = typeof path === 'string' ? path : '';
  return text.startsWith('/') ? text : `/${text}`;
}

/** A line more would be a setting more of the viewer. */
const oneLine = (text: string): string => text.replace(/\s/g, '');
