/** Images that a compute of GNS3 lacks are uploaded to it. */
import t from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { NodeLab, type Json } from '../support/node-lab.js';
import { startServer } from '../support/server-process.js';
import { StockCompute } from '../support/stock-compute.js';

const controller = await startServer(t);
const client = new Client(controller.url);

void t.test('an image that a compute lacks is uploaded to it, and the node is made again', async (t) => {
  const stock = await StockCompute.start();
  t.teardown(() => stock.stop());
  const place = { compute_id: 's', name: 'host s', protocol: 'http', host: '127.0.0.1', port: stock.port };
  await client.expect(201, 'POST', '/v2/computes', place);
  await eventually('it is connected', async () => {
    const { connected } = await client.expect(200, 'GET', '/v2/computes/s');
    return connected === true || undefined;
  });
  const lab = await NodeLab.make(t, controller);
  const content = Buffer.alloc(1_500_000, 'QFI\xfb image ', 'latin1');
  const machine = (...names: readonly [string, string]): Json => ({
    ...{ name: 'VM', node_type: 'qemu', compute_id: 's' },
    properties: { hda_disk_image: names[0], hdb_disk_image: names[1] },
  });
  for (const name of ['a.img', 'b.img']) {
    const path = `${controller.url}/v2/compute/qemu/images/${name}`;
    t.equal((await fetch(path, { method: 'POST', body: content })).status, 204);
  }
  await client.expect(201, 'POST', `${lab.path}/nodes`, machine('a.img', 'b.img'));
  for (const name of ['a.img', 'b.img'])
    t.ok(stock.images.get(`qemu/${name}`)?.equals(content), `it has all of ${name}`);
  t.match(await client.post(`${lab.path}/nodes`, machine('a.img', 'none.img')), {
    status: 409,
    body: { code: 'compute_lacks_image', exception: 'ImageMissingError', image: 'none.img' },
  });
});
