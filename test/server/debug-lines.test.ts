/** `--log-level debug` tells of the server's work at its doors. */
import t from 'tap';
import { Client } from '../support/client.js';
import { startServer } from '../support/server-process.js';

void t.test(
  'projects, devices, links, captures, uploads and jobs come and go with a line each',
  async (t) => {
    const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'debug' } });
    const client = new Client(server.url);
    const project = await client.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
    const base = `/v2/projects/${String(project['project_id'])}`;
    const node = { node_type: 'ethernet_switch', compute_id: 'local' };
    const ends: object[] = [];
    for (const name of ['A', 'B']) {
      const { node_id } = await client.expect(201, 'POST', `${base}/nodes`, { ...node, name });
      ends.push({ node_id, adapter_number: 0, port_number: 0 });
    }
    const link = await client.expect(201, 'POST', `${base}/links`, { nodes: ends });
    const linkPath = `${base}/links/${String(link['link_id'])}`;
    await client.expect(201, 'POST', `${linkPath}/start_capture`, {});
    await client.expect(201, 'POST', `${linkPath}/stop_capture`);
    await client.request('POST', `${base}/files/notes.txt`, 'content');
    await client.request('POST', '/v2/compute/qemu/images/large.img', Buffer.alloc(200_000));
    await client.expect(201, 'POST', `${base}/snapshots`, { name: 'first' });
    await client.expect(204, 'DELETE', linkPath);
    await client.expect(204, 'POST', `${base}/close`);
    for (const line of [
      'the project was created',
      'the project was closed',
      'a device was added',
      'a device was removed',
      'a link was connected',
      'a link was disconnected',
      'a capture began',
      'a capture ended',
      'a small file has landed',
      'an upload began',
      'an upload ended',
      'a job began',
      'a job ended',
    ]) {
      await server.logged(new RegExp(`"msg":"${line}"`));
      t.pass(line);
    }
  },
);
