/** The commands of etcd on the page about farms do what it says, and the examples of the guide work on two servers. */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { EtcdCluster, missingEtcd } from '../support/etcd.js';
import { scratchFolder } from '../support/scratch.js';
import { ownConsolePorts, startServer } from '../support/server-process.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const run = promisify(execFile);

function blocksOf(folder: string): string[] {
  const page = readFileSync(join(ROOT, `docs/${folder}/farm.md`), 'utf8');
  return [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block);
}

void t.test('users, room, a backup and its restore', { skip: missingEtcd() }, async (t) => {
  const etcd = await EtcdCluster.start(t);
  const folder = scratchFolder(t);
  for (const name of ['root-password', 'password']) writeFileSync(join(folder, name), `${name}\n`);
  const blocks = blocksOf('reference');
  t.equal(blocks.length, 4);
  const look = 'ETCDCTL_USER=wirefarm:password etcdctl put /wirefarm/a 1';
  const script = ['set -euo pipefail', blocks[0], look, ...blocks.slice(1)].join('\n');
  const environment = { ...process.env, ETCDCTL_API: '3', ETCDCTL_ENDPOINTS: etcd.urls.join(',') };
  execFileSync('bash', ['-c', script], { cwd: folder, env: environment, stdio: 'pipe' });
  t.ok(existsSync(join(folder, 'restored/member/snap/db')));
});

void t.test('the guide, where a lab is asked of another server', { skip: missingEtcd() }, async (t) => {
  const etcd = await EtcdCluster.start(t);
  const begin = (part: number) =>
    startServer(t, {
      flags: ['--farm', etcd.address('guide'), '--advertise', 'http://127.0.0.1:0'],
      environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts(part) },
    });
  const owner = await begin(0);
  await owner.logged(/"scope":"@farm"/);
  const other = await begin(1);
  const script = [
    'set -euo pipefail',
    'curl() { case " $* " in *" -sN "*) command curl -f --max-time 2 "$@" || [ $? = 28 ] ;; *) command curl -f "$@" ;; esac; }',
    `url=${owner.url}/v2 other=${other.url}/v2`,
    `project=$(curl -s $url/projects -d '{"name": "first", "auto_close": false}' | grep -o '"project_id":"[^"]*' | cut -d'"' -f4)`,
    ...blocksOf('guide'),
  ].join('\n');
  const { stdout } = await run('bash', ['-c', script]);
  t.match(stdout, /"name":"SW9"[^]*SW9\n[^]*as of now\n$/);
});
