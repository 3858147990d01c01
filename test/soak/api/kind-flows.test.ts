/** A router, a machine and a container, from its template to the end of its project, as clients of GNS3 go through it. */
import t from 'tap';
import { Client } from '../../support/client.js';
import { FlowPlayer } from '../../support/client-flow.js';
import { DOCKER, PROGRAMS } from '../../support/compute-kinds.js';
import { missingDocker, TestEngine } from '../../support/docker-engine.js';
import { kindFlow, placeImage } from '../../support/kind-flow.js';
import { ownConsolePorts, startServer } from '../../support/server-process.js';

const lacksDocker = missingDocker();
const engine = lacksDocker === false ? await TestEngine.start(t) : undefined;
const environment = {
  WIREFARM_CONSOLE_PORTS: ownConsolePorts(),
  WIREFARM_DOCKER_SOCKET: engine?.socket,
  WIREFARM_DOCKER_PRIVILEGES: 'fewer',
};
const server = await startServer(t, { flags: ['--kvm', 'off'], environment });
t.teardown(() => {
  if (t.passing()) return;
  for (const line of server.log().split('\n'))
    if (line.includes('"level":50')) process.stderr.write(`${line}\n`);
});
await new Client(server.url).expect(201, 'PUT', '/v2/iou_license', {
  iourc_content: '[license]\nhost = 0;\n',
});

for (const kind of [...PROGRAMS, { ...DOCKER, missing: lacksDocker }]) {
  void t.test(`${kind.kind}, from its template to its end`, { skip: kind.missing }, async (t) => {
    placeImage(t, kind, server.data);
    const player = new FlowPlayer(t, server.url);
    await player.play(kindFlow(kind));
    await player.checkStreams();
  });
}
