/** Servers in a network namespace of their own, which stand for the world behind a NAT. */
import { execFileSync, spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { Test } from 'tap';
import { NetworkNamespace } from './network-namespace.js';

export const WORLD = '198.18.79.1';
/** The address of the host on the way there. */
export const HOST = '198.18.79.2';
/** The port that sends everything back, by TCP and by UDP. */
export const ECHO = 7;
/** The name that the name server of the world knows. */
export const KNOWN = { name: 'server.world.test', address: '203.0.113.7' };
const VETH = `wfn${process.pid}`;

/** Sends every datagram back. */
export function udpEcho(
  t: Test,
  host: string,
  port: number,
): { readonly udp: Socket; readonly listening: Promise<unknown> } {
  // The address is looked up at once: the thread is in a namespace for the moment only.
  const udp = createSocket({
    type: 'udp4',
    lookup: (address, _options, done) => {
      done(null, address, 4);
    },
  });
  udp.on('message', (bytes, { port: from, address }) => {
    udp.send(bytes, from, address);
  });
  const listening = once(udp, 'listening');
  udp.bind(port, host);
  t.teardown(() => udp.close());
  return { udp, listening };
}

/**
 * Sends everything back by TCP, and knows one name by DNS. What it prints first says that it listens.
 */
const SERVERS = `
import socketserver, threading
class Names(socketserver.BaseRequestHandler):
    def handle(self):
        asked, answers = self.request
        question = asked[12:asked.index(b'\\0', 12) + 5]
        name = b''.join(bytes([len(part)]) + part for part in b'${KNOWN.name}'.split(b'.')) + b'\\0'
        known = question == name + b'\\0\\1\\0\\1'
        address = bytes(int(part) for part in '${KNOWN.address}'.split('.'))
        answer = b'\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x3c\\0\\4' + address if known else b''
        counts = bytes([0, 1, 0, known, 0, 0, 0, 0])
        answers.sendto(asked[:2] + b'\\x81\\x80' + counts + question + answer, self.client_address)
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(4096): self.request.sendall(data)
names = socketserver.UDPServer(('${WORLD}', 53), Names)
threading.Thread(target=names.serve_forever, daemon=True).start()
server = socketserver.ThreadingTCPServer(('${WORLD}', ${ECHO}), Echo)
print('ready', flush=True)
server.serve_forever()`;

/** Servers in a namespace, and the way there. */
export async function natWorld(t: Test): Promise<void> {
  const namespace = new NetworkNamespace(t);
  execFileSync('ip', ['link', 'add', VETH, 'type', 'veth', 'peer', 'name', 'far']);
  t.teardown(() => {
    execFileSync('ip', ['link', 'del', VETH]);
  });
  execFileSync('ip', ['link', 'set', 'far', 'netns', namespace.name]);
  execFileSync('ip', ['addr', 'add', `${HOST}/30`, 'dev', VETH]);
  execFileSync('ip', ['link', 'set', VETH, 'up']);
  namespace.ip('addr', 'add', `${WORLD}/30`, 'dev', 'far');
  namespace.ip('link', 'set', 'far', 'up');
  const servers = spawn('ip', ['netns', 'exec', namespace.name, 'python3', '-c', SERVERS]);
  t.teardown(() => servers.kill('SIGKILL'));
  await Promise.all([
    namespace.inside(() => udpEcho(t, WORLD, ECHO)).listening,
    once(servers.stdout, 'data'),
  ]);
}
