/** Archives of many small files on their way into some projects, and an upload into another one. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { eventually } from './eventually.js';
import { FaultServer } from './fault-server.js';
import { gns3Node, placeGns3Project } from './gns3-project.js';
import { scratchFolder } from './scratch.js';
import { tarMember, TAR_ZEROS } from './tar-archive.js';

const ARCHIVES = 4;
/** As many as the server has threads for archives. */
const AT_ONCE = 2;
const HELD = 'held-files';

/**
 * The archives are stopped in the middle, at the disk itself. What is uploaded then is there while they stand: it has
 * waited for nothing of theirs. They go on afterwards.
 */
export async function uploadBesideArchives(t: Test, filesOfEach: number): Promise<void> {
  const data = scratchFolder(t);
  mkdirSync(join(data, 'projects'));
  const labs = Array.from({ length: ARCHIVES + 1 }, (_, index) => {
    const node = gns3Node('docker');
    const { id, folder } = placeGns3Project(join(data, 'projects'), `lab${index}`, { nodes: [node] });
    const base = `/v2/projects/${id}`;
    const own = `project-files/docker/${node.node_id}`;
    return { base, node: `${base}/nodes/${node.node_id}`, files: join(folder, own) };
  });
  const server = new FaultServer(t, data);
  await server.start();
  for (const { base } of labs) await server.client.expect(201, 'POST', `${base}/open`);
  const members = Array.from({ length: filesOfEach }, (_, index) =>
    tarMember({ path: `${HELD}/${index}`, content: 'x' }),
  );
  const archive = Buffer.concat([...members, TAR_ZEROS]);
  const honest = labs.pop();
  if (honest === undefined) throw new Error('there is no lab');

  const { begun, release } = server.hold(HELD);
  const archives = labs.map(({ node }) => server.client.request('POST', `${node}/files.tar`, archive));
  const held = (): number => begun().filter((operation) => operation.includes(HELD)).length;
  await eventually('archives are stopped at the disk', () => held() >= AT_ONCE || undefined);
  for (const [name, size] of Object.entries({ 'startup.cfg': 5, 'image.bin': 200_000 })) {
    const sent = Buffer.alloc(size, name);
    const { status } = await server.client.request('POST', `${honest.node}/files/${name}`, sent);
    t.equal(status, 201, `${size} bytes have come in`);
    t.ok(readFileSync(join(honest.files, name)).equals(sent));
  }
  t.equal(held(), AT_ONCE, 'and no more archives are at it than have threads');
  release();
  for (const { status } of await Promise.all(archives)) t.equal(status, 201);
  for (const { files } of labs) t.equal(readdirSync(join(files, HELD)).length, filesOfEach);
}
