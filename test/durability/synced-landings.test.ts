/** The server syncs an upload before it acknowledges it: every new folder, and content that was there already. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import t from 'tap';
import { tarArchive } from '../support/tar-archive.js';
import { WriterLab } from '../support/writer-lab.js';

const lab = await WriterLab.make(t);
const node = relative(lab.folder, lab.nodeFolder);

/** The operations of a request that succeeds, without the threads. */
async function operationsOf(path: string, bytes: Uint8Array): Promise<readonly string[]> {
  const { reply, operations } = await lab.under({ at: 0, mode: 'before' }, () =>
    lab.client.request('POST', path, bytes),
  );
  if (reply?.status !== 201) throw new Error(`${path}: ${reply?.text ?? ''}`);
  return operations.map((operation) => operation.replace(/ \(thread \d+\)$/, ''));
}

const syncOf = (folder: string): string => `fsyncSync ${folder === '.' ? lab.folder : folder}`;

for (const [what, bytes] of Object.entries({
  small: Buffer.from('small'),
  large: Buffer.alloc(200_000, 1),
})) {
  void t.test(`every folder that a ${what} upload makes is synced in its parent`, async (t) => {
    rmSync(join(lab.folder, 'project-files'), { recursive: true, force: true });
    const operations = await operationsOf(`${lab.nodeBase}/files/new/sub/deep/${what}`, bytes);
    for (let folder = `${node}/new/sub/deep`; folder !== 'project-files'; folder = dirname(folder)) {
      const made = operations.indexOf(`mkdirSync ${folder}`);
      t.ok(made >= 0, `${folder} is made`);
      t.ok(operations.indexOf(syncOf(dirname(folder)), made) > made, `and its parent is synced`);
    }
  });

  void t.test(`a ${what} upload that is there already is synced before it is acknowledged`, async (t) => {
    mkdirSync(lab.nodeFolder, { recursive: true });
    writeFileSync(join(lab.nodeFolder, what), bytes, { mode: 0o644 });
    const operations = await operationsOf(`${lab.nodeBase}/files/${what}`, bytes);
    t.notOk(
      operations.some((operation) => operation.startsWith('renameSync')),
      'nothing is written',
    );
    t.ok(operations.includes(`fdatasyncSync ${node}/${what}`));
    t.ok(operations.includes(syncOf(node)));
  });
}

void t.test(
  'every folder that an archive makes is synced in its parent before its journal goes',
  async (t) => {
    rmSync(lab.nodeFolder, { recursive: true, force: true });
    const operations = await operationsOf(`${lab.nodeBase}/files.tar`, tarArchive([['made/deep/file', 'x']]));
    const gone = operations.findLastIndex((operation) => /^unlinkSync .*journal\.json$/.test(operation));
    for (const folder of [`${node}/made/deep`, `${node}/made`, node]) {
      const made = operations.lastIndexOf(`mkdirSync ${folder}`);
      const synced = operations.indexOf(syncOf(dirname(folder)), made);
      t.ok(made >= 0 && synced > made && synced < gone, folder);
    }
    const placed = operations.findLastIndex((operation) => operation.startsWith('renameSync'));
    t.ok(operations.indexOf(syncOf(`${node}/made/deep`), placed) > placed, 'and so is the name of the file');
  },
);
