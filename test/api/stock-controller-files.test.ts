/** The files of nodes, as a controller of GNS3 2.2 imports, copies and exports them on a compute. */
import { createHash } from 'node:crypto';
import t from 'tap';
import { PROGRAMS } from '../support/compute-kinds.js';
import { ownConsolePorts, startServer } from '../support/server-process.js';
import { StockController } from '../support/stock-controller.js';

const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts() };
const server = await startServer(t, { flags: ['--kvm', 'off'], environment });
const md5Of = (text: string): string => createHash('md5').update(text).digest('hex');

/** A file of its own, and one in a folder. */
const IMPORTED = { 'notes.txt': 'kept\n', 'below/deep.bin': 'deep' };

for (const kind of PROGRAMS) {
  void t.test(
    `files of a node of the kind ${kind.kind} come with it, and leave with it`,
    { skip: kind.missing },
    async (t) => {
      const controller = await StockController.open(t, server.url);
      const { client } = controller;
      const node = await controller.create(kind, 'PC1');
      for (const [path, text] of Object.entries(IMPORTED)) {
        const reply = await client.request('POST', controller.fileOf(node, path), text);
        t.match(reply, { status: 201, text: '' });
      }
      const copy = await controller.duplicate(node, 'PC2');
      const listed = await controller.files();
      for (const each of [node, copy]) {
        for (const [path, text] of Object.entries(IMPORTED)) {
          t.equal((await client.get(controller.fileOf(each, path))).text, text);
          t.equal(
            listed.get(controller.fileOf(each, path).slice(`${controller.path}/files/`.length)),
            md5Of(text),
          );
        }
      }
      t.equal((await client.get(controller.fileOf(node, 'none'))).status, 404);
      const nowhere = { destination_node_id: controller.projectId };
      t.equal((await client.post(`${controller.at(node)}/duplicate`, nowhere)).status, 404);

      await controller.act(node, 'start');
      const wanted = { destination_node_id: node.id };
      t.match(
        await client.post(`${controller.at(copy)}/duplicate`, wanted),
        { status: 409 },
        'while one runs',
      );
      t.equal((await client.get(controller.fileOf(node, 'notes.txt'))).text, 'kept\n');
      await controller.act(copy, 'start');
      await controller.act(copy, 'stop');
      await client.expect(204, 'DELETE', controller.at(node));
      const left = [...(await controller.files()).keys()];
      t.notOk(left.some((path) => path.includes(node.id)));
      t.ok(left.some((path) => path.includes(copy.id)));
      await client.expect(204, 'POST', `${controller.path}/close`);
      const again = await StockController.open(t, server.url, controller.projectId);
      t.same(
        [...(await again.files()).keys()].toSorted(),
        left.toSorted(),
        'a closed project keeps its files',
      );
      await client.expect(204, 'DELETE', controller.path);
    },
  );
}

for (const kind of PROGRAMS) {
  void t.test(
    `a project with a node of the kind ${kind.kind} is exported, deleted and restored`,
    { skip: kind.missing },
    async (t) => {
      const controller = await StockController.open(t, server.url);
      const { client } = controller;
      const node = await controller.create(kind, 'PC1');
      for (const [path, text] of Object.entries(IMPORTED))
        await client.expect(201, 'POST', controller.fileOf(node, path), text);
      const exported = new Map<string, string>();
      for (const path of (await controller.files()).keys())
        exported.set(path, `${(await client.get(`${controller.path}/files/${path}`)).text}! of the user\n`);
      await client.expect(204, 'DELETE', controller.path);

      const again = await StockController.open(t, server.url, controller.projectId);
      t.same([...(await again.files()).keys()], []);
      for (const [path, text] of exported)
        await client.expect(201, 'POST', `${again.path}/files/${path}`, text);
      const restored = await again.createAgain(node);
      for (const [path, md5] of await again.files()) t.equal(md5, md5Of(exported.get(path) ?? ''), path);
      await again.act(restored, 'start');
      await client.expect(204, 'DELETE', again.path);
    },
  );
}

void t.test('copies in both directions at once end', async (t) => {
  const [kind] = PROGRAMS;
  if (kind?.missing !== false) return;
  const controller = await StockController.open(t, server.url);
  const [one, other] = [await controller.create(kind, 'PC1'), await controller.create(kind, 'PC2')];
  await controller.client.expect(201, 'POST', controller.fileOf(one, 'a.txt'), 'a');
  const copies = [one, other, one, other].map((from) => {
    const to = from === one ? other : one;
    return controller.client.post(`${controller.at(from)}/duplicate`, { destination_node_id: to.id });
  });
  for (const { status } of await Promise.all(copies)) t.equal(status, 201);
  const itself = { destination_node_id: one.id };
  await controller.client.expect(201, 'POST', `${controller.at(one)}/duplicate`, itself);
});
