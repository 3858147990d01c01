/** The desktop client and the web UI of GNS3, call by call. */
import t from 'tap';
import { FlowPlayer, recordedFlow } from '../support/client-flow.js';
import { missingVpcs } from '../support/vpcs.js';
import { ownConsolePorts, startServer } from '../support/server-process.js';

const skip = missingVpcs();
const FLOWS = ['desktop-client', 'web-ui'] as const;

for (const [index, flow] of FLOWS.entries()) {
  void t.test(`${flow}: every call is answered as the client expects it`, { skip }, async (t) => {
    const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts(index) };
    const server = await startServer(t, { environment, flags: ['--local', '--kvm', 'off'] });
    const player = new FlowPlayer(t, server.url);
    await player.play(recordedFlow(flow));
    await player.checkStreams();
  });
}
