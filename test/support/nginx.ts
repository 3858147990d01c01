/** nginx with the site of the documents before a server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { scratchFolder, type Teardown } from './scratch.js';
import { freePort } from './udp-peer.js';

/** The name of the site. */
export const SITE_NAME = 'labs.example.org';
const SITE = readFileSync(new URL('../../../docs/nginx/wirefarm.conf', import.meta.url), 'utf8');

interface Pair {
  readonly certificate: string;
  readonly key: string;
}

/** Returns the port of loopback on which it listens, with this certificate. */
export async function startNginx(
  t: Teardown,
  server: { readonly port: number },
  pair: Pair,
): Promise<number> {
  for (;;) {
    const port = await freePort();
    // Another program may take a port that was free.
    if (await listensOn(t, port, server.port, pair)) return port;
  }
}

/** Resolves with false when nginx ends instead. */
async function listensOn(t: Teardown, port: number, serverPort: number, pair: Pair): Promise<boolean> {
  const folder = scratchFolder(t);
  const inFolder = (name: string): string => join(folder, name);
  writeFileSync(inFolder('cert.pem'), pair.certificate);
  writeFileSync(inFolder('key.pem'), pair.key);
  mkdirSync(inFolder('temporary'));
  const site = SITE.replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replace(/listen \[::\]:443 ssl;/, '')
    .replace('127.0.0.1:3080', `127.0.0.1:${serverPort}`)
    .replaceAll('/etc/wirefarm/tls', folder);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${inFolder('temporary')}/${kind};`,
  );
  const http = ['access_log off;', ...temporary, site].join('\n');
  const main = `daemon off; master_process off; pid ${inFolder('pid')}; events {} http { ${http} }`;
  writeFileSync(inFolder('nginx.conf'), main);
  const nginx = spawn('nginx', ['-p', folder, '-c', inFolder('nginx.conf'), '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  t.teardown(() => nginx.kill('SIGKILL'));
  const hasEnded = (): boolean => nginx.exitCode !== null;
  return eventually('nginx listens', async () => {
    if (hasEnded()) return false;
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => undefined,
    );
    socket.destroy();
    return hasEnded() ? false : isOpen;
  });
}
