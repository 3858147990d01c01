/** A node of each kind that starts at once, from its template to the end of its project, as clients of GNS3 go through it. */
import t from 'tap';
import { FlowPlayer } from '../support/client-flow.js';
import { OUTLETS, SWITCHES, VPCS } from '../support/compute-kinds.js';
import { kindFlow } from '../support/kind-flow.js';
import { ownConsolePorts, startServer } from '../support/server-process.js';

const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts() };
const server = await startServer(t, { environment });

for (const kind of [...SWITCHES, ...OUTLETS, VPCS]) {
  void t.test(`${kind.kind}, from its template to its end`, { skip: kind.missing }, async (t) => {
    const player = new FlowPlayer(t, server.url);
    await player.play(kindFlow(kind));
    await player.checkStreams();
  });
}
