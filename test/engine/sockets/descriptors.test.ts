import { closeSync, openSync } from 'node:fs';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { createSocket } from 'node:dgram';
import t from 'tap';
import { Descriptors } from '../../../src/engine/sockets/descriptors.js';

const descriptors = new Descriptors();

void t.test('there is a limit, and below the lowest that is free all are in use', (t) => {
  t.ok(descriptors.most >= 64);
  const lowest = descriptors.lowestFree();
  t.equal(descriptors.lowestFree(), lowest, 'to look takes none');
  const taken = openSync('/dev/null', 'r');
  t.equal(taken, lowest);
  t.ok(descriptors.lowestFree() > lowest);
  closeSync(taken);
  t.equal(descriptors.lowestFree(), lowest);
  t.end();
});

void t.test('TCP connections are counted by address, other sockets are not', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const accepted = [once(server, 'connection')];
  const client = connect(port, '127.0.0.1');
  await Promise.all([once(client, 'connect'), ...accepted]);
  const other = createSocket('udp4');
  other.connect(port, '127.0.0.1');
  await once(other, 'connect');
  t.equal(descriptors.connections().get('7f000001'), 2, 'both ends are of this process');
  other.close();
  client.destroy();
  server.close();
});
