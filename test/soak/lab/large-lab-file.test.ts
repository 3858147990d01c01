/** A lab file of 2,000 nodes and 3,000 links comes up, its plan is empty afterwards, and one link of them is changed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { cli } from '../../support/cli.js';
import { Client } from '../../support/client.js';
import { scratchFolder } from '../../support/scratch.js';
import { MOST_UDP_PORTS, startServer } from '../../support/server-process.js';

const NODES = 2000;
const LINKS = 3000;

/** A ring of switches with links across it; the first link is at this port of its second end. */
function fileOf(port: string): string {
  const nodes = Array.from(
    { length: NODES },
    (_, index) => `  S${index}: { kind: ethernet_switch, ports: 4 }`,
  );
  const links = Array.from({ length: LINKS }, (_, index) => {
    const [from, to] = index < NODES ? [index, index + 1] : [index - NODES, index - NODES / 2];
    const ends = index < NODES ? ['e0', index === 0 ? port : 'e1'] : ['e2', 'e2'];
    return `  - [S${from % NODES}:${ends[0] ?? ''}, S${to % NODES}:${ends[1] ?? ''}]`;
  });
  return ['name: large', 'nodes:', ...nodes, 'links:', ...links, ''].join('\n');
}

void t.test('a large lab comes up from its file', async (t) => {
  const server = await startServer(t, { environment: { WIREFARM_UDP_PORTS: MOST_UDP_PORTS } });
  const client = new Client(server.url);
  const path = join(scratchFolder(t), 'large.yaml');
  const run = (command: string): ReturnType<typeof cli> => cli(t, [command, path, '--url', server.url]);
  writeFileSync(path, fileOf('e1'));
  const begun = performance.now();
  const up = await run('up');
  t.comment(`up of ${NODES} nodes and ${LINKS} links: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  t.match(up, { code: 0, errors: '' });
  const [project] = (await client.get('/v2/projects')).body as { project_id: string }[];
  const stats = `/v2/projects/${project?.project_id ?? ''}/stats`;
  t.match((await client.get(stats)).body, { nodes: NODES, links: LINKS });
  t.same(await run('plan'), { code: 0, output: 'nothing to do\n', errors: '' });
  writeFileSync(path, fileOf('e3'));
  t.same(await run('up'), {
    code: 0,
    output: 'remove link S0:e0 S1:e1\ncreate link S0:e0 S1:e3\n',
    errors: '',
  });
});
