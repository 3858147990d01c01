/** The plug-in as tshark uses it. */
import { join } from 'node:path';
import t from 'tap';
import { cli, LinkedLab, Program, serving } from '../../support/cli.js';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';
import { missingTshark } from '../../support/tshark.js';

const skip = missingTshark();

interface Bench {
  readonly lab: LinkedLab;
  readonly tshark: (t: Teardown, ...args: string[]) => Program;
}

/** A tshark with a home of its own, in which the plug-in is installed. */
async function bench(t: Teardown): Promise<Bench> {
  const server = await startServer(t);
  const lab = await LinkedLab.open(t, new Client(server.url), 'our {lab}', ['SW', 'HUB']);
  const home = scratchFolder(t);
  const environment = { HOME: home, XDG_CONFIG_HOME: join(home, 'config'), WIREFARM_URL: server.url };
  await cli(t, ['extcap', '--install'], environment);
  return {
    lab,
    tshark: (t, ...args) => new Program(t, 'tshark', args, { ...environment, WIREFARM_URL: '' }),
  };
}

/** Sends until tshark has what it wants. The capture has begun when the first frame is seen. */
async function rows({ lab }: Bench, program: Program): Promise<string[][]> {
  let isOver = false;
  void program.ended.then(() => (isOver = true));
  await eventually('the end of the capture', async () => {
    await lab.send(10);
    return isOver ? true : undefined;
  });
  const { code, output, errors } = await program.ended;
  if (code !== 0) throw new Error(`tshark (${code ?? 'killed'}): ${errors}`);
  return output
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
}

const FIELDS = ['frame.interface_name', 'frame.len', 'frame.cap_len', 'data.data'];
const fields = ['-T', 'fields', ...FIELDS.flatMap((field) => ['-e', field])];

void t.test('tshark lists the links with their names', { skip }, async (t) => {
  const { lab, tshark } = await bench(t);
  const { output } = await tshark(t, '-D').ended;
  t.match(output, `${lab.interfaceName} (our (lab): SW e0 — HUB e0)\n`);
  t.match(output, `wirefarm-${lab.projectId}-all (our (lab): all links)\n`);
  const types = await tshark(t, '-L', '-i', lab.interfaceName).ended;
  t.match(types.output + types.errors, /wirefarm \(As each link says\)/);
});

void t.test('tshark captures a link live, and all links of a project', { skip }, async (t) => {
  const place = await bench(t);
  for (const name of [place.lab.interfaceName, `wirefarm-${place.lab.projectId}-all`]) {
    const seen = await rows(place, place.tshark(t, '-i', name, '-c', '50', ...fields));
    const numbers = seen.map(([, , , data = '']) => parseInt(data.slice(0, 4), 16));
    const [first = 0] = numbers;
    t.same(
      numbers,
      Array.from({ length: 50 }, (_, index) => first + index),
      'every frame, in order',
    );
    t.match(seen[0], [/ SW port 0$/, '60', '60']);
  }
});

void t.test('options of the interface and the capture filter reach the server', { skip }, async (t) => {
  const place = await bench(t);
  const name = place.lab.interfaceName;
  // Wireshark stores the options of an interface as preferences, in lower case and without what is no letter.
  const stored = (option: string, value: string): string[] => [
    '-o',
    `extcap.${name.replaceAll('-', '_')}.${option}:${value}`,
  ];
  const chosen = ['-f', 'ether[15] & 1 = 1', ...stored('sample', '2'), ...stored('snaplen', '20')];
  const seen = await rows(place, place.tshark(t, '-i', name, '-c', '5', ...chosen, ...fields));
  const numbers = seen.map(([, , , data = '']) => parseInt(data.slice(0, 4), 16));
  const [first = 0] = numbers;
  t.equal(first % 2, 1);
  t.same(
    numbers,
    [0, 4, 8, 12, 16].map((after) => first + after),
    'one of two that match',
  );
  t.same(seen[0]?.slice(1, 3), ['60', '20']);
});

void t.test('a filter is judged by the server, as Wireshark asks', async (t) => {
  const server = await startServer(t);
  const lab = await LinkedLab.open(t, new Client(server.url), 'lab', ['SW', 'HUB']);
  const judged = (filter: string, name = lab.interfaceName): ReturnType<typeof cli> =>
    cli(t, ['extcap', '--extcap-capture-filter', filter, '--extcap-interface', name, '--url', server.url]);
  t.same(await judged('icmp or port 53'), { code: 0, output: '', errors: '' });
  t.match(await judged('icmp or or'), { code: 0, output: /syntax error\n$/, errors: '' });
  t.match(await judged('icmp', 'eth0'), { code: 2, errors: /there is no interface eth0/ });
  await server.stop();
  t.match(await judged('icmp'), { code: 1, output: '', errors: /no server answers/ });
});

void t.test('options are what the stream is asked for, and an empty one is none', async (t) => {
  const asked: string[] = [];
  const url = await serving(t, ({ url = '' }, response) => {
    asked.push(url);
    response.end();
  });
  const project = '00000000-0000-4000-8000-000000000001';
  const link = '00000000-0000-4000-8000-000000000002';
  const ask = (filter: string, name: string, ...more: string[]): ReturnType<typeof cli> =>
    cli(t, ['extcap', '--extcap-capture-filter', filter, '--extcap-interface', name, '--url', url, ...more]);
  await ask('a or b', `wirefarm-${project}-${link}`, '--bpf', 'c', '--sample', '3', '--snaplen', '64');
  await ask('', `wirefarm-${project}-all`, '--cells', '--bpf', '', '--sample', '', '--snaplen', '');
  t.same(asked, [
    `/v2/projects/${project}/pcap?links=${link}&bpf=%28a+or+b%29+and+%28c%29&snaplen=64&sample=3`,
    `/v2/projects/${project}/pcap?cells=true`,
  ]);
});

void t.test('a capture that the server refuses ends tshark with the reason', { skip }, async (t) => {
  const { lab, tshark } = await bench(t);
  const { output, errors } = await tshark(t, '-i', lab.interfaceName, '-f', 'icmp or or', '-c', '1').ended;
  t.match(output + errors, /Invalid BPF expression 'icmp or or': syntax error/);
});
