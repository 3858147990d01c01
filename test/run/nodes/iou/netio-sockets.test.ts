/** The sockets of an image that does what it likes in its folder. */
import { existsSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import t from 'tap';
import { joinImage, ownSockets, removeSockets } from '../../../../src/run/nodes/iou/netio-sockets.js';
import { scratchFolder } from '../../../support/scratch.js';

void t.test('the engine finds the socket of an image, and no link in its place', async (t) => {
  const root = scratchFolder(t);
  const sockets = ownSockets(join(root, 'i'), 'node', 7, 0x7000_0001);
  t.match(sockets.own?.shown, { path: dirname(sockets.image), at: '/tmp/netio1879048193' });
  t.not(dirname(sockets.peer), dirname(sockets.image), 'the image has no way to it');
  t.equal(joinImage(sockets), false, 'an image that has no socket yet');
  const foreign = join(root, 'foreign');
  const other = createServer().listen(foreign);
  t.teardown(() => other.close());
  await once(other, 'listening');
  symlinkSync(foreign, sockets.image);
  t.equal(joinImage(sockets), false);
  t.notOk(existsSync(sockets.peer));
  removeSockets(sockets);
  t.notOk(existsSync(dirname(sockets.peer)));

  const again = ownSockets(join(root, 'i'), 'node', 7, 0x7000_0001);
  writeFileSync(again.image, '');
  t.equal(joinImage(again), false, 'a file is no socket');
  removeSockets(again);

  const last = ownSockets(join(root, 'i'), 'node', 7, 0x7000_0001);
  for (const path of [last.bridge, last.image]) {
    const socket = createServer().listen(path);
    t.teardown(() => socket.close());
    await once(socket, 'listening');
  }
  t.equal(joinImage(last), true);
  t.ok(lstatSync(last.peer).isSocket());
});

void t.test('a path that is too long for a socket gives way to one among the temporary files', (t) => {
  const root = join(scratchFolder(t), 'a'.repeat(100));
  mkdirSync(root);
  const sockets = ownSockets(root, 'node', 511, 0x7000_0001);
  t.teardown(() => {
    removeSockets(sockets);
  });
  t.ok(Buffer.byteLength(sockets.bridge) <= 107);
  t.ok(existsSync(dirname(sockets.bridge)));
  t.end();
});
