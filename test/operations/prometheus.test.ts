/** The Prometheus of Debian scrapes a server, in the format that it asks for. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { eventually } from '../support/eventually.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const isThere = spawnSync('prometheus', ['--version']).status === 0;
const skip = isThere ? false : 'the program prometheus is missing: install the package prometheus';

async function freePort(): Promise<number> {
  const socket = createServer().listen(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address() as AddressInfo;
  socket.close();
  await once(socket, 'close');
  return port;
}

const MONITORING = fileURLToPath(new URL('../../../docs/monitoring/', import.meta.url));

interface Rule {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
}

/** The expressions of the board, for any server and for the last minute. */
function expressionsOfBoard(): string[] {
  const { panels } = JSON.parse(readFileSync(join(MONITORING, 'board.json'), 'utf8')) as {
    readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
  };
  return panels
    .flatMap(({ targets }) => targets.map(({ expr }) => expr))
    .map((text) => text.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m'));
}

interface Target {
  readonly health: string;
  readonly lastError: string;
}

void t.test('both pages are scraped without a complaint, and have values', { skip }, async (t) => {
  const server = await startServer(t, {
    environment: { WIREFARM_USER: 'admin', WIREFARM_PASSWORD: 'secret', WIREFARM_LOG_LEVEL: 'debug' },
  });
  const folder = scratchFolder(t);
  const jobOf = (path: string): object => ({
    job_name: path,
    metrics_path: path,
    basic_auth: { username: 'admin', password: 'secret' },
    static_configs: [{ targets: [`127.0.0.1:${server.port}`] }],
  });
  const config = join(folder, 'prometheus.yml');
  const rule_files = [join(MONITORING, 'alerts.yml')];
  const scrape_configs = ['/metrics', '/metrics/projects'].map(jobOf);
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files,
      scrape_configs,
    }),
  );
  const url = `127.0.0.1:${await freePort()}`;
  const flags = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${url}`,
  ];
  const prometheus = spawn('prometheus', flags, { stdio: 'ignore' });
  t.teardown(async () => {
    prometheus.kill();
    await once(prometheus, 'exit');
  });
  const ask = async (path: string): Promise<{ readonly data?: unknown } | undefined> => {
    const reply = await fetch(`http://${url}/api/v1/${path}`).catch(() => undefined);
    // It begins.
    if (reply === undefined || reply.status === 503) return undefined;
    return (await reply.json()) as { readonly data?: unknown };
  };
  const targets = await eventually('both targets were scraped', async () => {
    const { activeTargets = [] } = ((await ask('targets'))?.data ?? {}) as { activeTargets?: Target[] };
    return activeTargets.length === 2 && activeTargets.every(({ health }) => health !== 'unknown')
      ? activeTargets
      : undefined;
  });
  for (const { health, lastError } of targets) t.strictSame([health, lastError], ['up', '']);
  const found = (await ask('query?query=wirefarm_http_connections')) as {
    readonly data: { readonly result: readonly unknown[] };
  };
  t.equal(found.data.result.length, 1);
  const types = (await ask('metadata?metric=wirefarm_http_requests')) as { readonly data: object };
  t.match(types.data, { wirefarm_http_requests: [{ type: 'counter' }] }, 'the format was OpenMetrics');

  const rules = await eventually('all rules were looked at', async () => {
    const { groups = [] } = ((await ask('rules'))?.data ?? {}) as { groups?: { rules: Rule[] }[] };
    const all = groups.flatMap((group) => group.rules);
    return all.length > 0 && all.every(({ health }) => health !== 'unknown') ? all : undefined;
  });
  t.same(
    rules.filter(({ health }) => health !== 'ok'),
    [],
  );
  const expressions = expressionsOfBoard();
  t.ok(expressions.length > 10);
  for (const text of expressions)
    t.match(await ask(`query?query=${encodeURIComponent(text)}`), { status: 'success' }, text);
});
