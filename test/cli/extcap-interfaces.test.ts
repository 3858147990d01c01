/** The list of interfaces, through the process. */
import t from 'tap';
import { cli, LinkedLab, serving } from '../support/cli.js';
import { Client } from '../support/client.js';
import { startServer } from '../support/server-process.js';

const LIST = ['extcap', '--extcap-interfaces', '--extcap-version=4.0'];
const HEAD = /^extcap \{version=\d+\.\d+\.\d+\}\{help=file:\/\/\/.*README\.md\}$/;

void t.test('every link of every open project, and all of a project', async (t) => {
  const server = await startServer(t);
  const client = new Client(server.url);
  const odd = await LinkedLab.open(t, client, 'läb} {value=x}', ['SW{0}', 'H÷2']);
  const plain = await LinkedLab.open(t, client, 'plain', ['S', 'H']);
  const closed = await LinkedLab.open(t, client, 'closed', ['S', 'H']);
  await client.expect(204, 'POST', `/v2/projects/${closed.projectId}/close`);
  await client.expect(201, 'POST', '/v2/projects', { name: 'without links' });
  const { code, output, errors } = await cli(t, [...LIST, '--url', server.url]);
  t.match({ code, errors }, { code: 0, errors: '' });
  const [head = '', ...lines] = output.trimEnd().split('\n');
  t.match(head, HEAD);
  t.strictSame(
    lines.sort(),
    [
      `interface {value=wirefarm-${odd.projectId}-all}{display=läb) (value=x): all links}`,
      `interface {value=${odd.interfaceName}}{display=läb) (value=x): SW1 e0 — H÷2 e0}`,
      `interface {value=wirefarm-${plain.projectId}-all}{display=plain: all links}`,
      `interface {value=${plain.interfaceName}}{display=plain: S e0 — H e0}`,
    ].sort(),
  );
});

void t.test('without a server the list is empty, and that is no error', async (t) => {
  const { code, output, errors } = await cli(t, LIST, { WIREFARM_URL: 'http://127.0.0.1:1' });
  t.match({ code, errors }, { code: 0, errors: '' });
  t.match(output.trimEnd(), HEAD);
});

void t.test('a server that wants a password is listed with it, and named without', async (t) => {
  const environment = { WIREFARM_USER: 'ann', WIREFARM_PASSWORD: 'secret' };
  const server = await startServer(t, { environment });
  const token = Buffer.from('ann:secret').toString('base64');
  const client = new Client(server.url, { authorization: `Basic ${token}` });
  const lab = await LinkedLab.open(t, client, 'kept', ['S', 'H']);
  const list = [...LIST, '--url', server.url];
  const without = await cli(t, list);
  t.match(without, { code: 0, errors: /^wirefarm: .* set WIREFARM_USER and WIREFARM_PASSWORD\n$/ });
  t.match(without.output.trimEnd(), HEAD);
  t.match((await cli(t, list, environment)).output, `{value=${lab.interfaceName}}`);
});

void t.test(
  'a project that is closed meanwhile is left out, and a port without a name has its numbers',
  async (t) => {
    const [gone, here, link] = ['1', '2', '3'].map((last) => `00000000-0000-4000-8000-00000000000${last}`);
    const ends = [
      { node_id: 'a', adapter_number: 1, port_number: 2 },
      { node_id: 'b', adapter_number: 0, port_number: 0 },
    ];
    const ports = [{ adapter_number: 0, port_number: 0, short_name: 'e0' }];
    const answers: Readonly<Record<string, unknown>> = {
      '/v2/projects': [gone, here].map((project_id) => ({ name: 'p', project_id, status: 'opened' })),
      [`/v2/projects/${here}/nodes`]: ['a', 'b'].map((node_id) => ({ name: node_id, node_id, ports })),
      [`/v2/projects/${here}/links`]: [{ link_id: link, nodes: ends }],
    };
    const url = await serving(t, ({ url = '' }, response) => {
      const body = answers[url];
      response.writeHead(body === undefined ? 403 : 200).end(JSON.stringify(body ?? { message: 'closed' }));
    });
    const { code, output, errors } = await cli(t, [...LIST, '--url', url]);
    t.match({ code, errors }, { code: 0, errors: '' });
    t.strictSame(output.trimEnd().split('\n').slice(1), [
      `interface {value=wirefarm-${here}-all}{display=p: all links}`,
      `interface {value=wirefarm-${here}-${link}}{display=p: a 1/2 — b e0}`,
    ]);
  },
);
