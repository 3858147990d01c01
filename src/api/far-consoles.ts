/** Consoles of nodes on other computes, as WebSockets through this server: each way at the pace of who reads. */
import { refusals } from '../base/errors/errors.js';
import type { DuplexConnection, DuplexReceiver } from '../http/streams/duplex-socket.js';
import type { FarNode } from '../lab/far-node.js';
import type { StoredNode } from '../lab/gns3-file/topology-schema.js';
import { servedKind } from '../lab/kinds/node-kinds.js';

/** With more that waits for the client, the compute is asked to wait. */
const MOST_FOR_CLIENT = 256 * 1024;
/** A client cannot be asked to wait: one that sends more than the compute takes is let go. */
const MOST_FOR_COMPUTE = 256 * 1024;
const TEXT_CONSOLE = 'telnet';
const CUT = 1001;
const TRY_AGAIN = 1013;

interface Attendance {
  readonly mode: 'use' | 'watch';
  readonly news: 'yes' | 'no';
}

export function isTextConsole({ node_type: type, console_type: wanted }: StoredNode): boolean {
  const types = servedKind(type)?.consoleTypes ?? [];
  return types.length > 0 && (wanted ?? types[0]) === TEXT_CONSOLE;
}

/** Refuses (409) a node without a text console, and one whose compute is out of reach. */
export function checkFarConsole({ stored, isReady, computeName }: FarNode): void {
  if (!isTextConsole(stored)) throw refusals.consoleMissing(stored.name, TEXT_CONSOLE);
  if (!isReady) throw refusals.computeNotConnected(computeName, 'GET console/ws');
}

/** A compute of GNS3 knows neither watchers nor news. */
export function openFarConsole(
  node: FarNode,
  { mode, news }: Attendance,
  connection: DuplexConnection,
): DuplexReceiver {
  const isWirefarm = node.dialect > 0;
  const hasNews = isWirefarm && news === 'yes';
  const query = isWirefarm ? `?mode=${mode}&news=${news}` : '';
  const socket = node.connect(`${node.path}/console/ws${query}`, {
    received: (bytes, isText) => {
      const waiting =
        isText && hasNews ? connection.sendText(Buffer.from(bytes).toString()) : connection.send(bytes);
      return waiting < MOST_FOR_CLIENT;
    },
    ended: (_code, reason) => {
      connection.end(CUT, reason === '' ? 'the console was reset or closed' : reason.slice(0, 100));
    },
  });
  return {
    received: (bytes, isText) => {
      if (!isWirefarm && (mode === 'watch' || (isText && news === 'yes'))) return;
      if (socket.send(bytes, isText) < MOST_FOR_COMPUTE) return;
      connection.end(TRY_AGAIN, 'more was sent than can be taken');
      socket.end();
    },
    drained: (waiting) => {
      if (waiting < MOST_FOR_CLIENT) socket.goOn();
    },
    closed: () => {
      socket.end();
    },
  };
}
