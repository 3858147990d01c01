/** Types the examples of the guide into a shell. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { PacketLine } from '../support/packet-line.js';
import { startServer } from '../support/server-process.js';
import { missingTshark } from '../support/tshark.js';

const skip = missingTshark();
const guide = readFileSync(new URL('../../../docs/guide/captures.md', import.meta.url), 'utf8');
const COUNT = 200;

void t.test(
  'packets are seen in a pipe while they pass, and it ends with the capture',
  { skip },
  async (t) => {
    const server = await startServer(t);
    const client = new Client(server.url);
    const line = await PacketLine.make(t, { client, url: server.url });
    for (const text of [
      'curl -sN $link/pcap |',
      '# or: | tshark -r -',
      'curl -s -X POST $link/stop_capture',
    ]) {
      t.ok(guide.includes(text), text);
    }
    const run = (script: string): ReturnType<typeof spawn> =>
      spawn('sh', ['-c', `link=${server.url}${line.at}; ${script}`], { stdio: ['ignore', 'pipe', 'pipe'] });
    const finished = async (child: ReturnType<typeof spawn>): Promise<unknown> =>
      (await once(child, 'close'))[0];

    t.equal(await finished(run("curl -s -X POST $link/start_capture -d '{}'")), 0);
    // Line by line, so that it can be seen when it comes.
    const pipe = run('curl -sN $link/pcap | tshark -l -n -r -');
    t.teardown(() => pipe.kill());
    let [shown, complaints] = ['', ''];
    pipe.stdout?.on('data', (text: Buffer) => (shown += text.toString()));
    pipe.stderr?.on('data', (text: Buffer) => (complaints += text.toString()));
    const ended = finished(pipe);
    const lines = (): number => shown.split('\n').length - 1;
    await line.pass(COUNT);
    await eventually('packets are shown while the capture runs', () => (lines() > 0 ? true : undefined));
    await line.pass(COUNT);
    t.equal(await finished(run('curl -s -X POST $link/stop_capture')), 0);
    t.equal(await ended, 0);
    t.equal(lines(), 2 * COUNT);
    t.equal(complaints.replace(/^Running as user .*\n/m, ''), '');
  },
);
