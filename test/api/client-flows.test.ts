/** The desktop client and the web UI of GNS3, call by call. */
import t from 'tap';
import { FlowPlayer, recordedFlow } from '../support/client-flow.js';
import { eventually } from '../support/eventually.js';
import { pcapFile } from '../support/pcap-records.js';
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
    for (const capture of await Promise.all(player.captures)) pcapFile(capture);
    for (const { path, logs } of player.streams) {
      const [overSocket, overHttp] = logs;
      await eventually(
        `both transports tell the same of ${path}`,
        () => overSocket?.received.length === overHttp?.received.length || undefined,
      );
      t.same(overSocket?.received, overHttp?.received, path);
    }
  });
}
