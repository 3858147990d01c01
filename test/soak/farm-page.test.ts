/** The commands of etcd on the page about farms do what it says. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { EtcdCluster, missingEtcd } from '../support/etcd.js';
import { scratchFolder } from '../support/scratch.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

void t.test('users, room, a backup and its restore', { skip: missingEtcd() }, async (t) => {
  const etcd = await EtcdCluster.start(t);
  const folder = scratchFolder(t);
  for (const name of ['root-password', 'password']) writeFileSync(join(folder, name), `${name}\n`);
  const page = readFileSync(join(ROOT, 'docs/reference/farm.md'), 'utf8');
  const blocks = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block);
  t.equal(blocks.length, 4);
  const look = 'ETCDCTL_USER=wirefarm:password etcdctl put /wirefarm/a 1';
  const script = ['set -euo pipefail', blocks[0], look, ...blocks.slice(1)].join('\n');
  const environment = { ...process.env, ETCDCTL_API: '3', ETCDCTL_ENDPOINTS: etcd.urls.join(',') };
  execFileSync('bash', ['-c', script], { cwd: folder, env: environment, stdio: 'pipe' });
  t.ok(existsSync(join(folder, 'restored/member/snap/db')));
});
