/** A controller of GNS3 2.2 uses this server as a compute for containers, with a real engine. */
import t from 'tap';
import { DOCKER } from '../../support/compute-kinds.js';
import { missingDocker, TestEngine } from '../../support/docker-engine.js';
import { eventually } from '../../support/eventually.js';
import { ownConsolePorts, startServer } from '../../support/server-process.js';
import { StockController } from '../../support/stock-controller.js';

void t.test('a container lives on a compute that is killed', { skip: missingDocker() }, async (t) => {
  const engine = await TestEngine.start(t);
  const environment = {
    WIREFARM_CONSOLE_PORTS: ownConsolePorts(),
    WIREFARM_DOCKER_SOCKET: engine.socket,
    WIREFARM_DOCKER_PRIVILEGES: 'fewer',
  };
  const first = await startServer(t, { environment });
  const controller = await StockController.open(t, first.url);
  t.same((await controller.client.get('/v2/compute/docker/images')).body, [
    { image: DOCKER.properties['image'] },
  ]);
  const node = await controller.create(DOCKER, 'PC1');
  const link = await controller.link(node);
  await controller.act(node, 'start');
  await DOCKER.talk(controller, node, link);
  await controller.act(node, 'suspend');
  await controller.act(node, 'start');
  const interfaces = controller.fileOf(node, 'etc/network/interfaces');
  t.match((await controller.client.get(interfaces)).text, /^#/);
  const copy = await controller.duplicate(await controller.create(DOCKER, 'PC2'), 'PC3');
  t.not(copy.id, node.id);
  await first.stop('SIGKILL');

  const second = await startServer(t, { environment, data: first.data });
  const again = await StockController.open(t, second.url, controller.projectId);
  const rebuilt = await again.createAgain(node);
  const anew = await again.link(rebuilt);
  await again.act(rebuilt, 'start');
  await DOCKER.talk(again, rebuilt, anew);
  t.equal((await engine.containers()).length, 1, 'the container of before is not left over');
  await again.client.expect(204, 'DELETE', again.path);
  await eventually(
    'no container is left',
    async () => (await engine.containers(true)).length === 0 || undefined,
  );
});
