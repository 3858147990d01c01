/** The rules of who may speak to the server, by themselves and in the server that applies them. */
import { BlockList } from 'node:net';
import { hostname } from 'node:os';
import { once } from 'node:events';
import t from 'tap';
import { isLoopback } from '../../src/base/loopback.js';
import { Refusal } from '../../src/base/errors/errors.js';
import type { Gate, GateOptions } from '../../src/http/gate.js';
import type { Scheme } from '../../src/http/proxies.js';
import { Grants } from '../../src/lab/access/grants.js';
import { Passwords } from '../../src/lab/access/passwords.js';
import { Sessions } from '../../src/lab/access/sessions.js';
import { SignIn } from '../../src/lab/access/sign-in.js';
import { Tokens } from '../../src/lab/access/tokens.js';
import { Users } from '../../src/lab/access/users.js';
import { firstAdmin } from '../support/accounts.js';
import { Client } from '../support/client.js';
import { FakeStore } from '../support/fake-store.js';
import { newGate } from '../support/new-gate.js';
import { headerOf, jsonOf, rawRequest, type RawReply } from '../support/raw-client.js';
import { upgrade } from '../support/upgrade.js';
import { startServer, type ServerProcess } from '../support/server-process.js';

const STOCK_ORIGINS = [
  'http://127.0.0.1:3080',
  'http://localhost:3080',
  'http://127.0.0.1:4200',
  'http://localhost:4200',
  'https://gns3.github.io',
];
const FOREIGN_ORIGINS = [
  'https://evil.example',
  'null',
  'http://gns3.github.io',
  'http://gns3.github.io.evil.example',
  'http://127.0.0.1:1',
];

const gate = (options: Partial<GateOptions> = {}): Gate =>
  newGate({ allowedOrigins: ['http://a.example'], ...options });

function refusal(check: () => void): number | undefined {
  try {
    check();
  } catch (error) {
    return error instanceof Refusal ? error.status : -1;
  }
  return undefined;
}

void t.test('a gate on loopback knows loopback names from others', (t) => {
  for (const host of ['127.0.0.1', 'localhost', '::1', '127.3.2.1']) {
    const closed = gate({ host });
    t.ok(isLoopback(host), host);
    for (const name of ['127.0.0.1', '127.0.0.1:80', 'LocalHost:3080', '[::1]', '[::1]:3080', '127.9.9.9'])
      t.equal(
        refusal(() => {
          closed.checkHost(name);
        }),
        undefined,
        name,
      );
    for (const name of [
      '',
      'a.example',
      'localhost.a.example',
      '127.0.0.1.a.example',
      '10.0.0.1',
      '::1',
      'localhost:x',
    ])
      t.equal(
        refusal(() => {
          closed.checkHost(name);
        }),
        403,
        name,
      );
  }
  t.end();
});

void t.test('a gate takes the names that it is told of, on loopback as well', (t) => {
  const check = (host: string, name: string): number | undefined =>
    refusal(() => {
      gate({ host, allowedHosts: ['Lab.Example', '2001:db8::7'] }).checkHost(name);
    });
  for (const host of ['127.0.0.1', '0.0.0.0', '10.1.2.3'])
    for (const name of ['lab.example', 'LAB.example:3080', '[2001:db8::7]:80', 'localhost', '127.0.0.1:1'])
      t.equal(check(host, name), undefined, `${host} ${name}`);
  t.equal(check('0.0.0.0', 'x.lab.example'), 403);
  t.end();
});

void t.test('a gate beyond loopback takes addresses and the name of the machine', (t) => {
  for (const host of ['0.0.0.0', '::', '10.1.2.3', 'fe80::1']) {
    t.notOk(isLoopback(host), host);
    const open = gate({ host });
    const check = (name: string): number | undefined =>
      refusal(() => {
        open.checkHost(name);
      });
    for (const name of [
      hostname(),
      `${hostname().toUpperCase()}:3080`,
      'localhost:3080',
      '10.9.8.7',
      '192.0.2.1:3080',
      '[2001:db8::1]:3080',
    ])
      t.equal(check(name), undefined, name);
    for (const name of [
      '',
      'a.example',
      `${hostname()}.a.example`,
      '10.1.2.3.a.example',
      '1.2.3',
      '[::1',
      '::1',
    ])
      t.equal(check(name), 403, name);
  }
  t.end();
});

void t.test('an origin passes when it is allowed, or the very host that is asked and one of ours', (t) => {
  const origin = (from: string, host: string, options: Partial<GateOptions> = {}): number | undefined =>
    refusal(() => {
      gate(options).checkOrigin({ origin: from, host, scheme: 'http' });
    });
  t.equal(origin('', 'x'), undefined);
  t.equal(origin('http://a.example', 'x'), undefined);
  t.equal(origin('https://a.example', 'x'), 403);
  t.equal(origin('http://localhost:99', 'localhost:99'), undefined);
  t.equal(origin('http://localhost:99', 'localhost:98'), 403);
  t.equal(origin('http://b.example:99', 'b.example:99', { host: '0.0.0.0' }), 403, 'a name that leads here');
  t.equal(
    origin(`http://${hostname().toLowerCase()}:9`, `${hostname().toLowerCase()}:9`, { host: '0.0.0.0' }),
    undefined,
  );
  t.equal(origin('http://10.1.2.3:9', '10.1.2.3:9', { host: '10.1.2.3' }), undefined);
  t.end();
});

void t.test(
  'a gate on loopback has addresses when a proxy is before it, and its pages come from there',
  (t) => {
    const trustedProxies = new BlockList();
    trustedProxies.addAddress('127.0.0.1');
    for (const options of [{ trustedProxies }, { publicUrl: new URL('https://labs.example.org') }]) {
      const behind = gate(options);
      const checked = (host: string, origin: string): number | undefined =>
        refusal(() => {
          behind.checkHost(host);
          behind.checkOrigin({ origin, host, scheme: 'https' });
        });
      t.equal(checked('192.0.2.7:8443', 'https://192.0.2.7:8443'), undefined);
      t.equal(checked('[2001:db8::7]', 'https://[2001:db8::7]'), undefined);
      t.equal(checked('192.0.2.7', 'https://192.0.2.7:8443'), 403);
      t.equal(checked('other.example', 'https://other.example'), 403);
    }
    t.end();
  },
);

void t.test('a public URL is a name of the server and an origin of its pages', (t) => {
  const known = gate({ publicUrl: new URL('https://Labs.example.org') });
  const check = (origin: string, host: string, scheme: Scheme = 'http'): number | undefined =>
    refusal(() => {
      known.checkHost(host);
      known.checkOrigin({ origin, host, scheme });
    });
  t.equal(check('', 'LABS.example.org:443'), undefined);
  t.equal(check('https://labs.example.org', 'labs.example.org'), undefined);
  t.equal(check('https://labs.example.org', '127.0.0.1:3080'), undefined, 'the proxy passes no name on');
  t.equal(
    check('http://labs.example.org', 'labs.example.org', 'https'),
    403,
    'anybody on the way can be that',
  );
  t.equal(check('https://labs.example.org:8443', 'labs.example.org'), 403);
  t.equal(check('https://evil.example.org', 'labs.example.org'), 403);
  t.equal(check('https://localhost:8', 'localhost:8', 'https'), undefined, 'a page that came over TLS');
  t.equal(check('https://localhost:8', 'localhost:8'), 403);
  t.end();
});

void t.test('credentials are compared as a whole', (t) => {
  const now = (): number => performance.now();
  const store = new FakeStore();
  const run = (): never => {
    throw new Error('no password of a user is checked');
  };
  const passwords = new Passwords({ threads: { run }, atOnce: 1 });
  const users = new Users({ store, passwords, hasBuiltInAdmin: true, now });
  const tokens = new Tokens({ store, users, now });
  const sessions = new Sessions({ store, users, now });
  const grants = new Grants(store, { has: () => false });
  const builtIn = { user: 'ann', password: 'sécret:x' };
  const guarded = newGate(
    {},
    new SignIn({ users, tokens, sessions, passwords, grants, builtIn, others: undefined, now }),
  );
  const header = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
  const check = (value: string): number | undefined =>
    refusal(() => {
      const client = { address: '192.0.2.1', host: 'localhost', origin: '', scheme: 'http' } as const;
      void guarded.admit({ authorization: value, session: '', acts: false }, client);
    });
  t.equal(check(header('ann:sécret:x')), undefined);
  for (const wrong of [
    '',
    'Basic',
    header('ann:'),
    header('ann:sécret'),
    header('ANN:sécret:x'),
    `${header('ann:sécret:x')} `,
  ])
    t.equal(check(wrong), 401, wrong);
  t.end();
});

const ask = (
  server: ServerProcess,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<RawReply> =>
  rawRequest(server.port, method, path, { headers, ...(body === undefined ? {} : { body }) });

const CORS = 'Access-Control-Allow-Origin';

void t.test('a server with its defaults', async (t) => {
  const server = await startServer(t);

  await t.test('answers the preflight of each stock origin with its methods', async (t) => {
    for (const origin of STOCK_ORIGINS) {
      const reply = await ask(server, 'OPTIONS', '/v2/projects', {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'content-type, x-other',
      });
      t.equal(reply.status, 200);
      t.equal(reply.text, '');
      t.equal(headerOf(reply, CORS), origin);
      t.equal(headerOf(reply, 'Access-Control-Allow-Credentials'), 'true');
      t.equal(headerOf(reply, 'Access-Control-Allow-Methods'), 'GET, POST');
      t.equal(headerOf(reply, 'Access-Control-Allow-Headers'), 'content-type, x-other');
      t.equal(headerOf(reply, 'Access-Control-Max-Age'), '0');
      t.equal(headerOf(reply, 'Vary'), 'Origin');
      t.match(headerOf(reply, 'Access-Control-Expose-Headers'), /X-Route/);
      const names = reply.headers.map(([name]) => name.toLowerCase());
      t.strictSame(names, [...new Set(names)], 'no name is there twice');
    }
  });

  await t.test('refuses the preflight of any other origin', async (t) => {
    for (const origin of FOREIGN_ORIGINS) {
      const reply = await ask(server, 'OPTIONS', '/v2/projects', { Origin: origin });
      t.equal(reply.status, 403, origin);
      t.strictSame(jsonOf(reply), {
        code: 'origin_refused',
        message: `Requests from the origin ${origin} are not allowed`,
        status: 403,
      });
      t.equal(headerOf(reply, CORS), undefined);
    }
  });

  await t.test('lets pages of allowed origins alone read its answers', async (t) => {
    for (const path of ['/v2/version', '/v2/projects/unknown', '/nowhere']) {
      const allowed = await ask(server, 'GET', path, { Origin: STOCK_ORIGINS[0] ?? '' });
      t.equal(headerOf(allowed, CORS), STOCK_ORIGINS[0]);
      t.match(headerOf(allowed, 'Access-Control-Expose-Headers'), /X-Route/);
      const foreign = await ask(server, 'GET', path, { Origin: 'https://evil.example' });
      t.equal(foreign.status, allowed.status);
      t.equal(headerOf(foreign, CORS), undefined);
      t.equal(headerOf(await ask(server, 'GET', path), CORS), undefined);
    }
  });

  await t.test('refuses to be changed by a page from elsewhere', async (t) => {
    for (const origin of FOREIGN_ORIGINS) {
      for (const [method, path] of [
        ['POST', '/v2/projects'],
        ['PUT', '/v2/computes/x'],
        ['DELETE', '/v2/computes/x'],
        ['POST', '/v2/reload'],
      ] as const) {
        const reply = await ask(
          server,
          method,
          path,
          { Origin: origin, 'Content-Type': 'text/plain' },
          '{"name":"x"}',
        );
        t.equal(reply.status, 403, `${origin} ${method} ${path}`);
        t.equal(jsonOf(reply)['status'], 403);
      }
    }
    t.strictSame(JSON.parse((await ask(server, 'GET', '/v2/projects')).text), [], 'nothing was made');
  });

  await t.test('takes changes of allowed origins, of its own pages, and of what is no page', async (t) => {
    const own = { Origin: `http://localhost:${server.port}`, Host: `localhost:${server.port}` };
    const origins = [...STOCK_ORIGINS.map((Origin) => ({ Origin })), own, {}];
    for (const headers of origins) t.equal((await ask(server, 'POST', '/v2/reload', headers)).status, 200);
  });

  await t.test('opens a WebSocket under the same rules', async (t) => {
    const url = `${server.url}/v2/notifications/ws`;
    for (const origin of STOCK_ORIGINS) t.equal(await upgrade(url, { Origin: origin }), 101);
    for (const origin of FOREIGN_ORIGINS) t.equal(await upgrade(url, { Origin: origin }), 403, origin);
    t.equal(await upgrade(url, { Origin: server.url }), 101);
    t.equal(await upgrade(url, {}), 101);
    t.equal(await upgrade(url, { Host: 'evil.example' }), 403);
  });

  await t.test('answers to loopback names only', async (t) => {
    for (const name of ['localhost', '127.0.0.1', `[::1]:${server.port}`, 'LOCALHOST:80'])
      t.equal((await ask(server, 'GET', '/v2/version', { Host: name })).status, 200, name);
    for (const name of [
      'evil.example',
      `evil.example:${server.port}`,
      '192.168.1.1',
      'localhost.evil.example',
    ]) {
      const reply = await ask(server, 'GET', '/v2/version', { Host: name });
      t.equal(reply.status, 403, name);
      t.match(jsonOf(reply), { message: /does not know that it is called/, status: 403 });
    }
  });

  t.notMatch(server.log(), /no password/);
});

void t.test('a server for other origins knows those only', async (t) => {
  const server = await startServer(t, {
    flags: ['--allow-origins', 'https://lab.example,http://b.example:8'],
  });
  const preflight = async (origin: string): Promise<number> =>
    (await ask(server, 'OPTIONS', '/v2/projects', { Origin: origin })).status;
  t.equal(await preflight('https://lab.example'), 200);
  t.equal(await preflight('http://b.example:8'), 200);
  t.equal(await preflight(STOCK_ORIGINS[0] ?? ''), 403);
});

void t.test('a server beyond loopback knows its names, and says in its log that it is open', async (t) => {
  const server = await startServer(t, {
    flags: ['--host', '0.0.0.0', '--open', '--allow-hosts', 'lab.example'],
  });
  for (const name of ['lab.example', hostname(), '192.0.2.7:80', '[2001:db8::1]', 'localhost'])
    t.equal((await ask(server, 'GET', '/v2/version', { Host: name })).status, 200, name);
  const socket = `${server.url}/v2/notifications/ws`;
  for (const name of ['evil.example', `evil.example:${server.port}`, 'x.lab.example']) {
    t.equal((await ask(server, 'GET', '/v2/projects', { Host: name })).status, 403, name);
    t.equal(await upgrade(socket, { Host: name }), 403, name);
  }
  const reload = async (name: string, origin: string): Promise<number> =>
    (await ask(server, 'POST', '/v2/reload', { Host: name, Origin: origin })).status;
  t.equal(await reload('lab.example', 'http://lab.example'), 200);
  t.equal(await reload('lab.example', 'http://evil.example'), 403);
  t.equal(await reload('evil.example', 'http://evil.example'), 403);
  t.equal(await reload(`127.0.0.1:${server.port}`, `http://127.0.0.1:${server.port}`), 200);
  const warnings = server
    .log()
    .split('\n')
    .filter((line) => line.includes('"level":40'));
  t.equal(warnings.length, 1);
  t.match(warnings[0], /it has no password/);

  const consoleHost = async (client: Client, name: string): Promise<unknown> => {
    const { project_id: id } = await client.expect(201, 'POST', '/v2/projects', { name });
    const node = { name: 'PC', node_type: 'vpcs', compute_id: 'local' };
    return (await client.expect(201, 'POST', `/v2/projects/${String(id)}/nodes`, node))['console_host'];
  };
  t.equal(await consoleHost(new Client(server.url), 'open'), '0.0.0.0', 'as with GNS3');
  t.equal(
    await consoleHost(await firstAdmin(server), 'guarded'),
    '127.0.0.1',
    'consoles ask for no password',
  );
});

void t.test('a server with a password', async (t) => {
  const password = 'correct horse é';
  const server = await startServer(t, {
    flags: ['--user', 'ann', '--host', '0.0.0.0', '--log-level', 'trace'],
    environment: { WIREFARM_PASSWORD: ` ${password} ` },
  });
  const right = { Authorization: `Basic ${Buffer.from(`ann:${password}`).toString('base64')}` };
  const wrong = { Authorization: `Basic ${Buffer.from('ann:wrong').toString('base64')}` };
  const seen: string[] = [];

  await t.test('asks for it on every path that it has', async (t) => {
    for (const headers of [{}, wrong, { Authorization: right.Authorization.replace('Basic', 'basic') }]) {
      for (const [method, path] of [
        ['GET', '/v2/version'],
        ['POST', '/v2/projects'],
        ['PATCH', '/v2/projects'],
        ['GET', '/v2/notifications'],
        ['GET', '/v2/openapi.json'],
        ['POST', '/v2/shutdown'],
      ] as const) {
        const reply = await ask(server, method, path, headers, '{}');
        t.equal(reply.status, 401, `${method} ${path}`);
        t.equal(headerOf(reply, 'WWW-Authenticate'), 'Basic realm="GNS3 server"');
        t.equal(headerOf(reply, 'Content-Type'), 'application/json');
        t.strictSame(jsonOf(reply), {
          code: 'unauthorized',
          message: 'This server needs a user name and a password',
          status: 401,
        });
      }
    }
  });

  await t.test('lets in who has it, and shows the user but never the password', async (t) => {
    const client = new Client(server.url, right);
    const compute = await client.request('GET', '/v2/computes/local');
    t.match(compute.body, { user: 'ann' });
    const bad = await client.request('POST', '/v2/computes', {
      protocol: 'http',
      host: 'x',
      port: 'none',
      password: 'hunter2hunter2',
    });
    t.equal(bad.status, 400);
    t.match(bad.body, { request: { password: '***' } });
    const made = {
      compute_id: 'c',
      protocol: 'http',
      host: 'x',
      port: 1,
      user: 'u',
      password: 'hunter2hunter2',
    };
    const other = await client.request('POST', '/v2/computes', made);
    t.equal(other.status, 201);
    for (const path of ['/v2/computes', '/v2/computes/c', '/v2/openapi.json'])
      seen.push((await client.get(path)).text);
    seen.push(compute.text, bad.text, other.text);
  });

  await t.test('guards its WebSockets', async (t) => {
    const url = `${server.url}/v2/notifications/ws`;
    t.equal(await upgrade(url, {}), 401);
    t.equal(await upgrade(url, wrong), 401);
    t.equal(await upgrade(url, right), 101);
  });

  await t.test('needs none for an unknown path, nor for a preflight', async (t) => {
    t.equal((await ask(server, 'GET', '/nowhere')).status, 404);
    t.equal((await ask(server, 'POST', '/v2/nowhere')).status, 404);
    const preflight = await ask(server, 'OPTIONS', '/v2/projects', { Origin: STOCK_ORIGINS[0] ?? '' });
    t.equal(preflight.status, 200);
  });

  const stopped = once(server.child.stderr ?? process.stdin, 'end');
  t.equal(await server.stop(), 0);
  await stopped;
  const all = [...seen, server.log()].join('\n');
  t.ok(all.includes('/v2/computes/local'));
  t.notMatch(server.log(), /it has no password/);
  for (const secret of [password, 'hunter2', right.Authorization.slice(6)]) t.notOk(all.includes(secret));
});
