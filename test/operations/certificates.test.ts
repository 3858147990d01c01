/** Certificates of a running server: how they are chosen, and replaced under connections. */
import { execFileSync } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { selfSigned } from '../../src/cli/self-signed.js';
import { certificateTasks } from '../../src/operations/certificate-tasks.js';
import { cli } from '../support/cli.js';
import { RandomBytes } from '../support/random.js';
import { headerOf, rawRequest } from '../support/raw-client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { freePort } from '../support/udp-peer.js';

const HOST = '127.0.0.1';

/** The files of a pair, each replaced as a whole. */
class Pair {
  readonly certificate: string;
  readonly key: string;
  #made = selfSigned([HOST], new Date());

  constructor(folder: string) {
    this.certificate = join(folder, 'cert.pem');
    this.key = join(folder, 'key.pem');
    this.write();
  }

  get flags(): string[] {
    return ['--tls-cert', this.certificate, '--tls-key', this.key];
  }

  get text(): string {
    return this.#made.certificate;
  }

  renew(): void {
    this.#made = selfSigned([HOST], new Date());
    this.write();
  }

  write({ certificate, key } = this.#made): void {
    for (const [path, content] of [
      [this.key, key],
      [this.certificate, certificate],
    ] as const) {
      writeFileSync(`${path}.new`, content);
      renameSync(`${path}.new`, path);
    }
  }
}

/** The serial number of the certificate that a new connection gets; the error code when it breaks. */
async function serialOf({ port }: ServerProcess): Promise<string> {
  const socket = connect({ host: HOST, port, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect');
    const serial = socket.getPeerCertificate().serialNumber;
    socket.write(`GET /v2/version HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
    await once(socket, 'data');
    return serial;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  } finally {
    socket.destroy();
  }
}

async function get(
  server: ServerProcess,
  path: string,
  agent: Agent,
): Promise<[status: number, body: string]> {
  const sent = request(`${server.url}${path}`, { agent });
  sent.end();
  const [response] = (await once(sent, 'response')) as [Parameters<typeof text>[0] & { statusCode: number }];
  return [response.statusCode, await text(response)];
}

void t.test('a pair is read as a server needs it', (t) => {
  const folder = scratchFolder(t);
  const pair = new Pair(folder);
  const other = new Pair(scratchFolder(t));
  const read = (certificate: string, key: string): string | undefined =>
    certificateTasks.readCertificate({ certificate, key }).problem;
  t.equal(read(pair.certificate, pair.key), undefined);
  t.match(read(pair.certificate, other.key), /the key of .* is not that of the certificate in /);
  t.match(read(join(folder, 'nowhere'), pair.key), /nowhere cannot be read \(ENOENT/);
  t.match(read(folder, pair.key), /cannot be read/);
  t.match(read(pair.key, pair.key), /has no certificate \(PEM\)/);
  t.match(read(pair.certificate, pair.certificate), /has no private key \(PEM\)/);
  writeFileSync(other.certificate, pair.text + other.text);
  t.match(read(other.certificate, pair.key), /certificate 2 of .* is not the issuer of the one before it/);
  writeFileSync(other.certificate, pair.text.replace('MII', 'AAA'));
  t.match(read(other.certificate, pair.key), /certificate 1 of .* cannot be read/);
  t.end();
});

void t.test('a chain in order is a certificate', (t) => {
  const folder = scratchFolder(t);
  const openssl = (...args: readonly string[]): Buffer =>
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl('req', '-x509', ...made, '-subj', '/CN=root', '-keyout', 'root.key', '-out', 'root.pem');
  openssl('req', ...made, '-subj', '/CN=leaf', '-keyout', 'leaf.key', '-out', 'leaf.csr');
  const signer = ['-CA', 'root.pem', '-CAkey', 'root.key', '-CAcreateserial'];
  openssl('x509', '-req', '-in', 'leaf.csr', ...signer, '-out', 'leaf.pem');
  const chain = (...names: readonly string[]): string =>
    execFileSync('cat', names, { cwd: folder }).toString();
  const read = (text: string): string | undefined => {
    writeFileSync(join(folder, 'chain.pem'), text);
    const paths = { certificate: join(folder, 'chain.pem'), key: join(folder, 'leaf.key') };
    return certificateTasks.readCertificate(paths).problem;
  };
  t.equal(read(chain('leaf.pem', 'root.pem')), undefined);
  t.match(read(chain('root.pem', 'leaf.pem')), /certificate 2 .* is not the issuer/);
  t.end();
});

void t.test('a server does not start with a pair that is none', async (t) => {
  const pair = new Pair(scratchFolder(t));
  const other = new Pair(scratchFolder(t));
  const refused = (flags: readonly string[]): Promise<unknown> => startServer(t, { flags });
  await t.rejects(
    refused(['--tls-cert', pair.certificate, '--tls-key', other.key]),
    /is not that of the certi/,
  );
  await t.rejects(refused(['--tls-cert', pair.certificate]), /TLS needs both --tls-cert and --tls-key/);
  await t.rejects(refused(['--redirect-port', '8080']), /--redirect-port leads to TLS/);
});

void t.test('a server over TLS serves everything that it has', async (t) => {
  const folder = scratchFolder(t);
  const pair = new Pair(folder);
  const redirectPort = await freePort();
  const server = await startServer(t, { flags: [...pair.flags, '--redirect-port', String(redirectPort)] });
  t.match(server.url, /^https:/);
  const agent = new Agent({ ca: pair.text, keepAlive: true });
  t.teardown(() => {
    agent.destroy();
  });

  await t.test('requests, and a compute of the scheme', async (t) => {
    const [status, body] = await get(server, '/v2/computes/local', agent);
    t.equal(status, 200);
    t.match(JSON.parse(body), { protocol: 'https', port: server.port });
  });

  await t.test('pages of its own', async (t) => {
    const own = { origin: server.url, ca: pair.text };
    const open = async (origin: string): Promise<number> => {
      const socket = new WebSocket(`${server.url.replace('https', 'wss')}/v2/notifications/ws`, {
        ...own,
        origin,
      });
      const answer = once(socket, 'open').then(() => 101);
      const refusal = new Promise<number>((resolve) => {
        socket.on('unexpected-response', (_request, response) => {
          resolve(response.statusCode ?? 0);
        });
      });
      const code = await Promise.race([answer, refusal]);
      socket.on('error', () => undefined);
      socket.terminate();
      return code;
    };
    t.equal(await open(server.url), 101);
    t.equal(await open(server.url.replace('https', 'http')), 403);
  });

  await t.test('images, pushed and pulled', async (t) => {
    const [image, back] = [join(folder, 'a.img'), join(folder, 'back.img')];
    const bytes = Buffer.from(new RandomBytes(1).next(3_000_000));
    writeFileSync(image, bytes);
    const trust = ['--url', server.url, '--ca', pair.certificate];
    t.match(await cli(t, ['push', image, ...trust]), { code: 0 });
    t.match(await cli(t, ['pull', 'a.img', '--output', back, ...trust]), { code: 0 });
    execFileSync('cmp', [image, back]);
    t.match(await cli(t, ['pull', 'a.img', '--output', `${back}2`, '--url', server.url]), { code: 1 });
  });

  await t.test('clients that speak plain HTTP, by the way to it', async (t) => {
    const ask = (host: string): ReturnType<typeof rawRequest> =>
      rawRequest(redirectPort, 'POST', '/v2/projects?a=b', { headers: { Host: host }, body: '{"name":"x"}' });
    const sent = await ask(`localhost:${redirectPort}`);
    t.equal(sent.status, 308);
    t.equal(headerOf(sent, 'Location'), `https://localhost:${server.port}/v2/projects?a=b`);
    t.equal((await ask('evil.example')).status, 403);
  });
});

/** Waits for a certificate other than this one, because a signal is not answered. */
async function replaced(t: Test, server: ServerProcess, pair: Pair): Promise<void> {
  const lines = (): number => server.log().split('new connections get the new certificate').length;
  const before = lines();
  pair.renew();
  server.child.kill('SIGHUP');
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (lines() === before) return;
      server.child.stderr?.off('data', look);
      resolve();
    };
    server.child.stderr?.on('data', look);
  });
  t.pass();
}

void t.test('a certificate is replaced under connections', async (t) => {
  const pair = new Pair(scratchFolder(t));
  const server = await startServer(t, { flags: pair.flags });
  const first = await serialOf(server);
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  t.teardown(() => {
    agent.destroy();
  });
  const kept = async (): Promise<unknown> => {
    const [status] = await get(server, '/v2/version', agent);
    return [
      status,
      Object.values(agent.freeSockets)
        .flat()
        .map((socket) => (socket as TLSSocket | undefined)?.localPort),
    ];
  };
  const before = await kept();
  const listener = new WebSocket(`${server.url.replace('https', 'wss')}/v2/notifications/ws`, {
    rejectUnauthorized: false,
  });
  await once(listener, 'open');
  let closed = 0;
  listener.on('close', () => closed++);

  await t.test('50 times, and at most one new connection of 500 is reset', async (t) => {
    const serials: string[] = [];
    let isDone = false;
    const connecting = async (): Promise<void> => {
      while (!isDone || serials.length < 500) serials.push(await serialOf(server));
    };
    const clients = [connecting(), connecting()];
    for (let round = 0; round < 50; round++) {
      await replaced(t, server, pair);
      // A connection that nobody uses would end by itself on a slow machine.
      await kept();
    }
    isDone = true;
    await Promise.all(clients);
    const broken = serials.filter((serial) => !/^[0-9A-F]{32}$/.test(serial));
    t.comment(`${broken.length} of ${serials.length} connections broke`);
    t.ok(broken.length <= Math.ceil(serials.length / 500), broken.join(' '));
    t.ok(new Set(serials).size > 10, 'the certificates were used');
  });

  await t.test('and those that were there go on', async (t) => {
    t.same(await kept(), before, 'the same connection');
    const sent = request(`${server.url}/v2/projects`, { method: 'POST', rejectUnauthorized: false });
    sent.end('{"name":"heard"}');
    await once(sent, 'response');
    await once(listener, 'message');
    t.equal(closed, 0);
  });

  await t.test('but not by a pair that is none', async (t) => {
    const last = await serialOf(server);
    t.not(last, first);
    const [one, another] = [selfSigned([HOST], new Date()), selfSigned([HOST], new Date())];
    pair.write({ certificate: one.certificate, key: another.key });
    server.child.kill('SIGHUP');
    await server.logged(
      /"problem":"the key of [^"]*key\.pem is not that of the certificate in [^"]*cert\.pem"/,
    );
    t.equal(await serialOf(server), last);
    pair.write({ certificate: 'nonsense', key: another.key });
    server.child.kill('SIGHUP');
    await server.logged(/"problem":"[^"]*cert\.pem has no certificate/);
    t.equal(await serialOf(server), last);
    await replaced(t, server, pair);
    t.not(await serialOf(server), last);
  });
  listener.terminate();
});
