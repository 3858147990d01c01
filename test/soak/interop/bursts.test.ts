/** Packets that arrive while the server is kept from running are not lost. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { Client } from '../../support/client.js';
import { ComputeLab } from '../../support/compute-lab.js';
import { startServer } from '../../support/server-process.js';
import { UdpPeer } from '../../support/udp-peer.js';

const WANTED = 4 * 1024 * 1024;
const granted = Number(readFileSync('/proc/sys/net/core/rmem_max', 'utf8'));
const skip = granted >= WANTED ? false : `net.core.rmem_max is ${granted}: raise it to ${WANTED}`;

for (const { count, octets } of [
  { count: 4000, octets: 64 },
  { count: 3000, octets: 1500 },
]) {
  void t.test(
    `a burst of ${count} frames of ${octets} octets waits for a stopped server`,
    { skip },
    async (t) => {
      const server = await startServer(t);
      const client = new Client(server.url);
      const lab = await ComputeLab.open(client);
      const [near, far] = [await UdpPeer.open(t), await UdpPeer.open(t)];
      const node = await lab.node('ethernet_hub');
      const port = await lab.join(node, 0, near);
      await lab.join(node, 1, far);
      const frames = Array.from({ length: count }, (_, index) => {
        const frame = Buffer.alloc(octets, 0xff);
        frame.writeUInt32BE(index, octets - 4);
        return frame;
      });
      server.child.kill('SIGSTOP');
      await near.send(port, frames);
      server.child.kill('SIGCONT');
      const received = await far.receive(count);
      t.equal(received.length, count);
      const numbers = received.map((frame) => frame.readUInt32BE(octets - 4));
      t.ok(
        numbers.every((number, index) => number === index),
        'in order',
      );
    },
  );
}
