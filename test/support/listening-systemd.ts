/** A socket that hears what a server tells systemd. Python has sockets of this kind, Node.js has none. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Teardown } from './scratch.js';
import { eventually } from './eventually.js';

const LISTENER = `
import json, socket, sys
name = sys.argv[1]
systemd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
systemd.bind('\\0' + name[1:] if name.startswith('@') else name)
print(json.dumps('listens'), flush=True)
while True:
    print(json.dumps(systemd.recv(65536).decode()), flush=True)
`;

export interface ListeningSystemd {
  /** The messages so far. */
  readonly heard: readonly string[];
  /** Resolves with its place among the messages when one after that place is so. */
  hears(what: RegExp, after?: number): Promise<number>;
}

/** `name` is that of its socket: a path, or `@` and a name. */
export async function listeningSystemd(t: Teardown, name: string): Promise<ListeningSystemd> {
  const listener = spawn('python3', ['-c', LISTENER, name], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => listener.kill('SIGKILL'));
  const heard: string[] = [];
  const lines = createInterface({ input: listener.stdout });
  await once(lines, 'line');
  lines.on('line', (line) => heard.push(String(JSON.parse(line))));
  return {
    heard,
    hears: (what, after = -1) =>
      eventually(`systemd hears ${String(what)}`, () => {
        const place = heard.findIndex((message, index) => index > after && what.test(message));
        return place < 0 ? undefined : place;
      }),
  };
}
