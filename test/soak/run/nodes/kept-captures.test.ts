/** Captures of links between virtual PCs that live on while the server ends and comes back. */
import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { eventually } from '../../../support/eventually.js';
import { NodeLab, programsOf, type Json } from '../../../support/node-lab.js';
import { scratchFolder } from '../../../support/scratch.js';
import { manyUdpPorts, ownConsolePorts, startServer } from '../../../support/server-process.js';
import { missingTshark, tsharkRows } from '../../../support/tshark.js';
import { missingVpcs } from '../../../support/vpcs.js';

const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts(), WIREFARM_UDP_PORTS: manyUdpPorts() };
const flags = ['--keep-nodes', '60'];
/** The numbers of the echo requests in a file; all of it must be valid. */
function requestsIn(path: string): number[] {
  const rows = tsharkRows(readFileSync(path), ['icmp.seq'], 'icmp.type == 8');
  return rows.map(([number]) => Number(number));
}

async function isCapturing(lab: NodeLab, link: Json): Promise<true | undefined> {
  const shown = await lab.client.get(lab.linkAt(link));
  return (shown.body as Json)['capturing'] === true || undefined;
}

async function ping(t: Test, lab: NodeLab, pc: Json, count: number): Promise<void> {
  const terminal = await lab.console(t, pc);
  // The scrollback has what was printed before the server ended.
  await terminal.until(/PC1> $/);
  terminal.type(`ping 10.0.0.2 -c ${count}`);
  t.match(await terminal.until(/(?:ttl=|reachable)[^]*PC1> $/), /ttl=/);
}

const skip = missingVpcs() || missingTshark();

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  void t.test(`a capture between nodes that live on goes on after ${signal}`, { skip }, async (t) => {
    const data = scratchFolder(t);
    const first = await startServer(t, { data, flags, environment });
    const lab = await NodeLab.left('kept', first);
    const pcs = [await lab.pc('PC1', '10.0.0.1'), await lab.pc('PC2', '10.0.0.2')] as const;
    const link = await lab.link([pcs[0], 0], [pcs[1], 0]);
    const capture = await lab.client.expect(201, 'POST', `${lab.linkAt(link)}/start_capture`, {});
    const path = String(capture['capture_file_path']);
    await ping(t, lab, pcs[0], 1);
    await eventually('the ping is written', () => requestsIn(path).length > 0 || undefined);
    const before = requestsIn(path).length;
    const programs = pcs.map(programsOf);
    await first.stop(signal);

    const second = await startServer(t, { data, flags, environment });
    const next = new NodeLab(second, lab.id);
    await eventually('the link is captured again', () => isCapturing(next, link));
    t.same(pcs.map(programsOf), programs, 'the same programs');
    await ping(t, next, pcs[0], 2);
    await next.client.expect(201, 'POST', `${next.linkAt(link)}/stop_capture`);
    t.equal(requestsIn(path).length, before + 2, 'one file has what was before and after');
    const { gaps } = await next.client.expect(200, 'GET', `${next.linkAt(link)}/capture`);
    t.equal((gaps as Json[]).length, 1);
    await next.client.expect(204, 'DELETE', next.path);
    t.equal(await second.stop(), 0);
  });
}
