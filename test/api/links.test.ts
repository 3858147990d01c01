/** Links, as records. */
import t from 'tap';
import { Client, type Reply } from '../support/client.js';
import { gns3Link, gns3Node, placeGns3Project } from '../support/gns3-project.js';
import { libpcapLack } from '../support/libpcap.js';
import { end, LinkLab, type End, type Json } from '../support/link-lab.js';
import { seededRandom } from '../support/seeded-random.js';
import { manyUdpPorts, startServer } from '../support/server-process.js';
import { missingVpcs } from '../support/vpcs.js';

const server = await startServer(t, { environment: { WIREFARM_UDP_PORTS: manyUdpPorts() } });
const client = new Client(server.url);
const host = { client, url: server.url };
const UNKNOWN = '11111111-2222-3333-4444-555555555555';
const STYLE = 'font-family: TypeWriter;font-size: 10.0;font-weight: bold;fill: #000000;fill-opacity: 1.0;';
const refusal = (status: number, message: string): object => ({ status, body: { message, status } });

void t.test('a new link has the 11 keys and their defaults', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const reply = await lab.post([end(a, 3), end(b, 0)]);
  t.equal(reply.status, 201);
  const { link_id, ...rest } = reply.body as Json;
  t.match(link_id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  t.strictSame(rest, {
    capture_compute_id: null,
    capture_file_name: null,
    capture_file_path: null,
    capturing: false,
    filters: {},
    link_style: {},
    link_type: 'ethernet',
    nodes: [
      { ...end(a, 3), label: { style: STYLE, text: '0/3' } },
      { ...end(b, 0), label: { style: STYLE, text: '0/0' } },
    ],
    project_id: lab.id,
    suspend: false,
  });
  const keys = Object.keys(reply.body as Json);
  t.strictSame(keys, [...keys].sort());
  t.strictSame((await client.get(lab.at({ link_id }))).body, reply.body);
  t.strictSame(await lab.list(), [reply.body]);
});

void t.test('labels, style, filters and suspension are kept as they are sent', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const labels = [
    { rotation: -359, style: null, text: 'Ethernet0', x: -4, y: 5 },
    { text: '', x: null },
  ];
  const more = {
    filters: { delay: [10, 5], corrupt: [3] },
    link_style: { color: '#ff0000', type: 2, width: 4, dash: [1, 2] },
    suspend: true,
  };
  const link = await lab.link(
    [end(a, 0), end(b, 0)].map((one, index) => ({ ...one, label: labels[index] })),
    more,
  );
  t.hasStrict(link, more);
  t.strictSame(
    (link['nodes'] as Json[]).map(({ label }) => label),
    labels,
  );
});

void t.test('a link that was read can be posted again and becomes another', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const link = await lab.link([end(a, 0), end(b, 0)], { suspend: true });
  await client.expect(204, 'DELETE', lab.at(link));
  const ignored = { capturing: true, capture_file_name: 'x', project_id: UNKNOWN, link_type: 'serial' };
  const again = await client.expect(201, 'POST', lab.links, { ...link, ...ignored });
  t.not(again['link_id'], link['link_id'], 'ids are the server’s to choose');
  t.strictSame({ ...again, link_id: link['link_id'] }, link);
});

void t.test('ATM and Frame Relay switches may be linked, and the link is serial', async (t) => {
  const lab = await LinkLab.make(host);
  const atm = await lab.atm();
  const relay = await lab.node('frame_relay_switch', 'F', { mappings: { '1:101': '10:102' } });
  t.hasStrict(await lab.post([end(atm, 2), end(relay, 10)]), { status: 201, body: { link_type: 'serial' } });
});

void t.test('ends are checked in order: node, port, use, itself, type', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub('one'), await lab.hub('two')];
  const [atm, other] = [await lab.atm(), await lab.atm()];
  const first = await lab.link([end(a, 0), end(b, 0)]);
  const second = await lab.link([end(atm, 1), end(other, 1)]);
  const lost = end({ node_id: UNKNOWN }, 0);
  const used = refusal(409, 'Port is already used');
  const cases: [what: string, ends: End[], answer: object][] = [
    ['an unknown node', [lost, end(b, 1)], refusal(404, `Node ID ${UNKNOWN} doesn't exist`)],
    ['an unknown second node', [end(a, 1), lost], refusal(404, `Node ID ${UNKNOWN} doesn't exist`)],
    ['a missing port', [end(a, 8), end(b, 1)], refusal(404, 'Port 0/8 for one not found')],
    ['a missing adapter', [end(a, 1), end(b, 1, 2)], refusal(404, 'Port 2/1 for two not found')],
    ['a used port', [end(a, 0), end(b, 1)], used],
    ['a used second port', [end(a, 1), end(b, 0)], used],
    ['the node itself', [end(a, 1), end(a, 2)], refusal(409, 'Cannot connect to itself')],
    ['the port itself', [end(a, 1), end(a, 1)], refusal(409, 'Cannot connect to itself')],
    [
      'another type',
      [end(a, 1), end(atm, 2)],
      refusal(409, 'Connecting a ethernet interface to a serial interface is not allowed'),
    ],
    [
      'another type the other way round',
      [end(atm, 2), end(a, 1)],
      refusal(409, 'Connecting a serial interface to a ethernet interface is not allowed'),
    ],
    ['the first end before the second', [end(a, 0), lost], used],
    ['the port before the node itself', [end(a, 1), end(a, 9)], refusal(404, 'Port 0/9 for one not found')],
    ['the use before the node itself', [end(a, 1), end(a, 0)], used],
    ['the use before the type', [end(a, 1), end(atm, 1)], used],
  ];
  const news = await lab.told(async () => {
    for (const [what, ends, answer] of cases) t.hasStrict(await lab.post(ends), answer, what);
  });
  t.strictSame(news, [], 'nobody is told of a link that was not made');
  t.strictSame(await lab.list(), [first, second], 'none was made');
  t.hasStrict(await lab.post([end(a, 1), end(b, 1)]), { status: 201 }, 'and no port was lost');
});

void t.test('a link of too many ends or none given is refused', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b, c] = [await lab.hub(), await lab.hub(), await lab.hub()];
  t.hasStrict(await lab.post([end(a, 0), end(b, 0), end(c, 0)]), { status: 400, body: { status: 400 } });
  const reply = await client.post(lab.links, { suspend: true });
  t.hasStrict(reply, {
    status: 400,
    body: { method: 'POST', path: '/v2/projects/{project_id}/links', request: { suspend: true } },
  });
  t.match(reply.text, /nodes/);
  t.strictSame(await lab.list(), []);
});

void t.test('a request that is no link is refused with what was wrong', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const nodes = [end(a, 0), end(b, 0)];
  const ends = (more: Json): Json => ({ nodes: [{ ...end(a, 0), ...more }, end(b, 0)] });
  const cases: [field: string, body: Json][] = [
    ['nodes', { nodes: {} }],
    ['node_id', ends({ node_id: 'no-uuid' })],
    ['adapter_number', ends({ adapter_number: '0' })],
    ['port_number', ends({ port_number: 0.5 })],
    ['port_number', ends({ port_number: null })],
    ['label', ends({ label: {} })],
    ['label', ends({ label: null })],
    ['rotation', ends({ label: { text: 'x', rotation: -360 } })],
    ['colour', ends({ colour: 'red' })],
    ['suspend', { nodes, suspend: 'no' }],
    ['link_style', { nodes, link_style: [] }],
    ['color', { nodes, link_style: { color: 3 } }],
    ['width', { nodes, link_style: { width: '3' } }],
    ['type', { nodes, link_style: { type: 1.5 } }],
    ['filters', { nodes, filters: [] }],
    ['link_id', { nodes, link_id: 'no-uuid' }],
    ['project_id', { nodes, project_id: 'no-uuid' }],
    ['link_type', { nodes, link_type: 'wireless' }],
    ['colour', { nodes, colour: 'red' }],
  ];
  for (const [field, body] of cases) {
    const reply = await client.post(lab.links, body);
    t.hasStrict(reply, { status: 400, body: { path: '/v2/projects/{project_id}/links', request: body } });
    t.match(reply.text, field);
  }
  t.strictSame(await lab.list(), []);
});

void t.test('a link may lack ends, and nobody is told of it', async (t) => {
  const lab = await LinkLab.make(host);
  const atm = await lab.atm();
  const news = await lab.told(async () => {
    t.hasStrict(await lab.post([]), { status: 201, body: { nodes: [], link_type: 'ethernet' } });
    t.hasStrict(await lab.post([end(atm, 1)]), { status: 201, body: { link_type: 'serial' } });
  });
  t.strictSame(news, []);
  t.strictSame(
    (await lab.list()).map(({ nodes }) => (nodes as unknown[]).length),
    [0, 1],
  );
});

void t.test('a port stays used after its node was changed', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b, c] = [await lab.hub(), await lab.hub(), await lab.hub()];
  await lab.link([end(a, 0), end(b, 0)]);
  await client.expect(200, 'PUT', `${lab.path}/nodes/${String(a['node_id'])}`, { name: 'other', x: 5 });
  t.hasStrict(await lab.post([end(c, 0), end(a, 0)]), refusal(409, 'Port is already used'));
});

void t.test('only one of two links on one port at the same moment is made', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b, c] = [await lab.hub(), await lab.hub(), await lab.hub()];
  for (let port = 0; port < 8; port++) {
    const replies = await Promise.all([
      lab.post([end(a, port), end(b, port)]),
      lab.post([end(a, port), end(c, port)]),
    ]);
    t.strictSame(replies.map(({ status }) => status).sort(), [201, 409], `port ${port}`);
  }
  t.equal((await lab.list()).length, 8);
});

void t.test('an update answers with 201 and changes what it names', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const link = await lab.link([end(a, 0), end(b, 0)], { link_style: { color: 'red', width: 3 } });
  const put = (body: Json): Promise<Json> => client.expect(201, 'PUT', lab.at(link), body);
  t.strictSame(await put({ suspend: true }), { ...link, suspend: true });
  const filters = { packet_loss: [50] };
  t.strictSame(await put({ filters }), { ...link, suspend: true, filters });
  const link_style = { type: 1 };
  const changed = await put({ link_style, suspend: false });
  t.strictSame(changed, { ...link, filters, link_style }, 'the style is replaced as a whole');
  t.strictSame((await client.get(lab.at(link))).body, changed);
  t.strictSame(await put({}), changed);
});

void t.test('links of ATM and Frame Relay switches can be suspended and filtered', async (t) => {
  const lab = await LinkLab.make(host);
  for (const [a, b] of [
    [await lab.atm(), await lab.atm()],
    [await relayOf(lab), await relayOf(lab)],
  ] as const) {
    const link = await lab.link([end(a, 1), end(b, 1)]);
    const body = { suspend: true, filters: { corrupt: [5] } };
    t.strictSame(await client.expect(201, 'PUT', lab.at(link), body), { ...link, ...body });
    t.strictSame(await client.expect(201, 'PUT', lab.at(link), body), { ...link, ...body }, 'and again');
  }
});

void t.test('a link that was read can be sent back', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const link = await lab.link([end(a, 0), end(b, 0)]);
  t.strictSame(await client.expect(201, 'PUT', lab.at(link), link), link);
});

void t.test('an update changes labels, and never the ends', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b, c] = [await lab.hub(), await lab.hub(), await lab.hub()];
  const link = await lab.link([end(a, 0), end(b, 0)]);
  const [first, second] = link['nodes'] as [Json, Json];
  const label = { text: 'up', x: 1, y: 2 };
  const changed = await client.expect(201, 'PUT', lab.at(link), {
    nodes: [{ ...end(b, 7, 3), label }, { ...end(c, 0), label: { text: 'not on the link' } }, end(a, 5)],
  });
  t.strictSame(changed['nodes'], [first, { ...second, label }]);
  t.hasStrict(await lab.post([end(b, 7), end(c, 0)]), { status: 201 }, 'those ports are free');
  t.hasStrict(
    await client.put(lab.at(link), { suspend: true, nodes: [end({ node_id: UNKNOWN }, 0)] }),
    refusal(404, `Node ID ${UNKNOWN} doesn't exist`),
  );
  t.strictSame((await client.get(lab.at(link))).body, changed, 'all of a request or nothing');
});

void t.test('notifications tell of changes, and of every request that names ends', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const told: Json[] = [];
  const news = await lab.told(async () => {
    const link = await lab.link([end(a, 0), end(b, 0)], { suspend: true, link_style: { color: 'red' } });
    told.push(link);
    const put = (body: Json): Promise<Json> => client.expect(201, 'PUT', lab.at(link), body);
    await put({});
    await put({ suspend: true });
    await put({ link_style: { color: 'red' } });
    await put({ filters: {} });
    await put({ filters: { delay: [0] } });
    await client.put(lab.at(link), { filters: { delay: 'x' } });
    told.push(await put({ suspend: false }));
    told.push(await put({ filters: { delay: [7] } }));
    told.push(await put({ link_style: {} }));
    told.push(await put({ nodes: [end(a, 0)] }));
    await client.expect(204, 'DELETE', lab.at(link));
    told.push(told.at(-1) ?? {});
  });
  t.strictSame(
    news,
    ['created', 'updated', 'updated', 'updated', 'updated', 'deleted'].map((verb, index) => ({
      action: `link.${verb}`,
      event: told[index],
    })),
  );
});

void t.test('links with fewer than two ends are gone when a project is opened again', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  await lab.link([end(a, 0)]);
  const whole = await lab.link([end(a, 1), end(b, 1)]);
  await lab.link([]);
  t.equal(((await client.get(lab.links)).body as Json[]).length, 3);
  await client.expect(204, 'POST', `${lab.path}/close`);
  for (let round = 0; round < 2; round++) {
    await client.expect(201, 'POST', `${lab.path}/open`);
    t.hasStrict(await client.get(lab.links), { body: [{ link_id: whole['link_id'] }] });
    await client.expect(204, 'POST', `${lab.path}/close`);
  }
});

void t.test('an update that is none is refused, and nothing is changed', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const link = await lab.link([end(a, 0), end(b, 0)]);
  for (const body of [
    { suspend: 1 },
    { suspend: true, nodes: [{ ...end(a, 0), label: {} }] },
    { suspend: true, colour: 'red' },
    { suspend: true, filters: { bogus: [5] } },
  ]) {
    t.hasStrict(await client.put(lab.at(link), body), {
      status: 400,
      body: { method: 'PUT', path: '/v2/projects/{project_id}/links/{link_id}', request: body },
    });
  }
  t.strictSame((await client.get(lab.at(link))).body, link);
});

void t.test('filters', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const link = await lab.link([end(a, 0), end(b, 0)]);
  const put = (filters: Json): Promise<Reply> => client.put(lab.at(link), { filters });

  await t.test('filters that do nothing are left out', async (t) => {
    const cases: [given: Json, kept: Json][] = [
      [{ corrupt: [0], delay: [0, 0], frequency_drop: [0], packet_loss: [0], bpf: [] }, {}],
      [{ bpf: [''] }, {}],
      [{ delay: [] }, {}],
      [{ delay: [10, 3], packet_loss: [0] }, { delay: [10, 3] }],
      [{ frequency_drop: [-1] }, { frequency_drop: [-1] }],
      [{ delay: [0, 50] }, { delay: [0, 50] }],
      [{ delay: [10.7] }, { delay: [10] }],
      [{ delay: ['10', ' 3 '], corrupt: ['0'] }, { delay: [10, 3] }],
      [{}, {}],
    ];
    for (const [given, kept] of cases) {
      const reply = await put(given);
      t.equal(reply.status, 201, JSON.stringify(given));
      t.strictSame((reply.body as Json)['filters'], kept, JSON.stringify(given));
    }
  });

  await t.test('the limits that clients are told may be reached and not passed', async (t) => {
    const limits: Record<string, [least: number, most: number]> = {
      frequency_drop: [-1, 32_767],
      packet_loss: [0, 100],
      delay: [0, 32_767],
      corrupt: [0, 100],
    };
    for (const [type, [least, most]] of Object.entries(limits)) {
      t.hasStrict(await put({ [type]: [most] }), { status: 201, body: { filters: { [type]: [most] } } });
      t.equal((await put({ [type]: [least] })).status, 201);
      t.equal((await put({ [type]: [most + 1] })).status, 400);
      t.equal((await put({ [type]: [least - 1] })).status, 400);
    }
  });

  await t.test('a dialog that shows the filters of GNS3 alone leaves the others', async (t) => {
    // The web UI of GNS3 sends these with its dialog, and with the reset there.
    const dialog = { bpf: [], corrupt: [0], delay: [50, 0], frequency_drop: [0], packet_loss: [0] };
    const reset = { ...dialog, delay: [0, 0] };
    const own = { rate: [64, 0], duplicate: [2] };
    const steps: [what: string, given: Json, kept: Json][] = [
      ['filters of both kinds', { delay: [5], ...own }, { delay: [5], ...own }],
      ['the dialog', dialog, { delay: [50, 0], ...own }],
      ['its reset', reset, own],
      ['a dialog that shows all of them', { ...reset, ...own, duplicate: [0] }, { rate: [64, 0] }],
      ['some filters', { delay: [7] }, { delay: [7] }],
      ['own filters again', own, own],
      ['none', {}, {}],
    ];
    for (const [what, filters, kept] of steps)
      t.hasStrict(await put(filters), { status: 201, body: { filters: kept } }, what);
  });

  await t.test('a value that is no filter is refused', async (t) => {
    await put({ delay: [5] });
    for (const filters of [
      { bogus: [5] },
      { delay: 'abc' },
      { delay: 5 },
      { delay: null },
      { delay: [null] },
      { delay: ['five'] },
      { delay: ['0x5'] },
      { delay: [1, 2, 3] },
      { delay: [1, 40_000] },
      { bpf: [5] },
      { bpf: 'icmp' },
    ]) {
      const reply = await put(filters);
      t.hasStrict(reply, { status: 400, body: { status: 400 } }, JSON.stringify(filters));
      t.match((reply.body as Json)['message'], Object.keys(filters)[0]);
    }
    t.hasStrict((await client.get(lab.at(link))).body, { filters: { delay: [5] } });
  });

  await t.test('expressions are compiled, each line by itself', { skip: libpcapLack() }, async (t) => {
    const kept = { bpf: ['icmp\narp'] };
    t.hasStrict(await put({ bpf: [' icmp\narp \n'] }), { status: 201, body: { filters: kept } });
    for (const text of ['icmp or', 'icmp\nbogus word', 'atm and vpi 3']) {
      const reply = await put({ bpf: [text], delay: [1] });
      t.match(reply, { status: 400, body: { message: /^Invalid BPF expression '.+': \S/, method: 'PUT' } });
    }
    t.match((await put({ bpf: ['icmp\nbogus word'] })).text, /'bogus word': .*syntax error/);
    t.hasStrict((await client.get(lab.at(link))).body, { filters: kept }, 'nothing was changed');
    const [c, d] = [await lab.hub(), await lab.hub()];
    t.hasStrict(await lab.post([end(c, 0), end(d, 0)], { filters: { bpf: ['icmp or'] } }), { status: 400 });
    t.equal((await lab.list()).length, 1);
  });
});

const OF_THE_CONTRACT = ['frequency_drop', 'packet_loss', 'delay', 'corrupt', 'bpf'];
const OFFERED = [...OF_THE_CONTRACT, 'rate', 'duplicate', 'reorder'];

void t.test('every link is offered the filters that this host has', async (t) => {
  const lab = await LinkLab.make(host);
  const pairs: [Json, Json, number][] = [
    [await lab.hub(), await lab.hub(), 0],
    [await lab.node('ethernet_switch', 'S'), await lab.node('ethernet_switch', 'S'), 0],
    [await lab.atm(), await lab.atm(), 1],
    [await relayOf(lab), await relayOf(lab), 1],
  ];
  const offered = libpcapLack() === false ? OFFERED : OFFERED.filter((type) => type !== 'bpf');
  for (const [one, other, port] of pairs) {
    const link = await lab.link([end(one, port), end(other, port)]);
    const filters = (await client.get(`${lab.at(link)}/available_filters`)).body as Json[];
    t.strictSame(
      filters.map(({ type }) => type),
      offered,
      String(one['node_type']),
    );
  }
});

function relayOf(lab: LinkLab): Promise<Json> {
  return lab.node('frame_relay_switch', 'F{0}', { mappings: { '1:101': '10:102' } });
}

void t.test('the parameters of filters are what stock clients can show', async (t) => {
  const lab = await LinkLab.make(host);
  const link = await lab.link([end(await lab.hub(), 0), end(await lab.hub(), 0)]);
  const filters = (await client.get(`${lab.at(link)}/available_filters`)).body as Json[];
  for (const { type, parameters } of filters) {
    for (const parameter of parameters as Json[]) {
      if (type === 'bpf') t.strictSame(parameter, { name: 'Filters', type: 'text' });
      else t.ok(Number(parameter['maximum']) <= 2_147_483_647 && parameter['unit'] !== undefined);
    }
  }
});

void t.test('a link of an emulated node can be filtered', async (t) => {
  const node = gns3Node('vpcs');
  const hub = gns3Node('ethernet_hub');
  const link = gns3Link({ node }, { node: hub });
  const { id } = placeGns3Project(`${server.data}/projects`, 'filters', {
    nodes: [node, hub],
    links: [link],
  });
  const lab = await LinkLab.open(host, id);
  t.hasStrict(await client.get(`${lab.at(link)}/available_filters`), { status: 200 });
  t.hasStrict(await client.put(lab.at(link), { filters: { delay: [3] } }), { status: 201 });
});

void t.test('a deleted link is gone and its ports are free', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const link = await lab.link([end(a, 0), end(b, 0)]);
  const reply = await client.delete(lab.at(link));
  t.equal(reply.status, 204);
  t.equal(reply.headers.get('content-length'), null);
  const missing = refusal(404, `Link ID ${String(link['link_id'])} doesn't exist`);
  t.hasStrict(await client.delete(lab.at(link)), missing);
  t.hasStrict(await client.get(lab.at(link)), missing);
  t.hasStrict(await client.put(lab.at(link), {}), missing);
  t.hasStrict(await client.get(`${lab.at(link)}/available_filters`), missing);
  t.strictSame(await lab.list(), []);
  await lab.link([end(a, 0), end(b, 0)]);
});

void t.test('the type of a link stays when the mappings of its ends change', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.atm(), await lab.atm()];
  const link = await lab.link([end(a, 1), end(b, 1)]);
  for (const { node_id } of [a, b]) {
    const path = `${lab.path}/nodes/${String(node_id)}`;
    await client.expect(200, 'PUT', path, { properties: { mappings: {} } });
  }
  t.strictSame((await client.get(lab.at(link))).body, link);
  t.strictSame(await client.expect(201, 'PUT', lab.at(link), { suspend: true }), { ...link, suspend: true });
});

void t.test('a closed project lists its links as its file has them and refuses the rest', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const link = await lab.link([end(a, 0), end(b, 0)], { suspend: true, filters: { delay: [4] } });
  await client.expect(204, 'POST', `${lab.path}/close`);
  const { link_id, nodes, filters, link_style, suspend } = link;
  t.strictSame(await lab.list(), [{ filters, link_id, link_style, nodes, suspend }]);
  const closed = refusal(403, 'The project is not opened');
  t.hasStrict(await lab.post([end(a, 1), end(b, 1)]), closed);
  t.hasStrict(await client.get(lab.at(link)), closed);
  t.hasStrict(await client.put(lab.at(link), {}), closed);
  t.hasStrict(await client.delete(lab.at(link)), closed);
  t.hasStrict(await client.get(`${lab.at(link)}/available_filters`), closed);
  await client.expect(201, 'POST', `${lab.path}/open`);
  t.strictSame(await lab.list(), [link], 'suspended as it was');
  t.hasStrict(await lab.post([end(a, 0), end(b, 1)]), refusal(409, 'Port is already used'));
});

void t.test('links are listed in creation order, also after changes and a reopening', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const ids: unknown[] = [];
  for (const number of [4, 0, 7, 2, 5])
    ids.push((await lab.link([end(a, number), end(b, number)]))['link_id']);
  const order = async (): Promise<unknown[]> => (await lab.list()).map(({ link_id }) => link_id);
  t.strictSame(await order(), ids);
  await client.expect(201, 'PUT', lab.at({ link_id: ids[0] }), { suspend: true });
  t.strictSame(await order(), ids);
  await client.expect(204, 'POST', `${lab.path}/close`);
  t.strictSame(await order(), ids, 'closed');
  await client.expect(201, 'POST', `${lab.path}/open`);
  t.strictSame(await order(), ids, 'open again');
});

void t.test('links of an unknown project are not found', async (t) => {
  const missing = refusal(404, `Project ID ${UNKNOWN} doesn't exist`);
  const links = `/v2/projects/${UNKNOWN}/links`;
  t.hasStrict(await client.get(links), missing);
  t.hasStrict(await client.post(links, { nodes: [] }), missing);
  t.hasStrict(await client.get(`${links}/${UNKNOWN}`), missing);
  t.hasStrict(await client.delete(`${links}/${UNKNOWN}`), missing);
});

void t.test('lists have what each object answers, after any change', { skip: missingVpcs() }, async (t) => {
  const lab = await LinkLab.make(host);
  const hubs = [await lab.hub(), await lab.hub(), await lab.hub()] as const;
  const guest = await lab.node('vpcs', 'PC');
  const [nodes, drawings, templates] = [`${lab.path}/nodes`, `${lab.path}/drawings`, '/v2/templates'];
  const ids = { node: [], link: [], drawing: [], template: [] } as Record<string, unknown[]>;
  const known = (await client.get(templates)).body as Json[];
  for (const { node_id } of [...hubs, guest]) ids['node']?.push(node_id);
  const random = seededRandom(16);
  const pick = (count: number): number => Math.floor(random() * count);
  const nodeAt = (): string => `${nodes}/${String(ids['node']?.[pick(4)])}`;
  const linkAt = (): string => `${lab.links}/${String(ids['link']?.at(pick(9)) ?? ids['link']?.[0])}`;
  const drawingAt = (): string => `${drawings}/${String(ids['drawing']?.[0])}`;
  const templateAt = (): string => `${templates}/${String(ids['template']?.at(-1))}`;
  const template = { template_type: 'vpcs', compute_id: 'local' };
  const capture = { data_link_type: 'DLT_EN10MB', capture_file_name: 'x.pcap' };
  const ports = (count: number): Json[] =>
    Array.from({ length: 8 + count }, (_, port_number) => ({ name: `E${port_number}`, port_number }));
  const changes: (() => Promise<Reply>)[] = [
    () => lab.post([end(hubs[0], pick(8)), end(hubs[1], pick(8))]),
    () => lab.post([end(hubs[0], pick(8)), end(guest, 0)]),
    () => client.delete(linkAt()),
    () => client.put(linkAt(), { suspend: pick(2) === 0 }),
    () => client.put(linkAt(), { filters: { delay: [pick(3)] }, link_style: { width: pick(3) } }),
    () => client.put(`${linkAt()}/directed_filters`, { forward: { delay: [1] } }),
    () => client.post(`${linkAt()}/start_capture`, capture),
    () => client.post(`${linkAt()}/stop_capture`),
    () => client.put(nodeAt(), { x: pick(100), name: `N${pick(5)}` }),
    () => client.post(`${nodes}/${String(guest['node_id'])}/${pick(2) === 0 ? 'start' : 'stop'}`),
    () =>
      client.put(`${nodes}/${String(hubs[2]['node_id'])}`, { properties: { ports_mapping: ports(pick(8)) } }),
    () => client.post(`${nodeAt()}/${pick(2) === 0 ? 'isolate' : 'unisolate'}`),
    () => client.post(drawings, { svg: `<svg>${pick(9)}</svg>` }),
    () => client.put(drawingAt(), { x: pick(100), svg: `<svg>${pick(9)}</svg>` }),
    () => client.delete(drawingAt()),
    () => client.post(templates, { ...template, name: `T${pick(9)}` }),
    () => client.put(templateAt(), { name: `T${pick(9)}` }),
    () => client.delete(templateAt()),
  ];
  const lists: Record<string, string> = {
    node: nodes,
    link: lab.links,
    drawing: drawings,
    template: templates,
  };
  const done = new Set<number>();
  for (let step = 0; step < 60; step++) {
    // Some links and drawings come first, then each sort of change, then any.
    const which = step < 6 ? pick(2) * 12 : step < 6 + changes.length ? step - 6 : pick(changes.length);
    const reply = await changes[which]?.();
    if (reply !== undefined && reply.status < 300) done.add(which);
    for (const [kind, path] of Object.entries(lists)) {
      const id = (reply?.body as Json | undefined)?.[`${kind}_id`];
      if (reply?.status === 201 && id !== undefined && !ids[kind]?.includes(id)) ids[kind]?.push(id);
      const answers: unknown[] = kind === 'template' ? [...known] : [];
      for (const id of ids[kind] ?? []) {
        const single = await client.get(`${path}/${String(id)}`);
        if (single.status === 200) answers.push(single.body);
        else ids[kind] = (ids[kind] ?? []).filter((other) => other !== id);
      }
      t.strictSame((await client.get(path)).body, answers, `${kind}s after change ${which} in step ${step}`);
    }
  }
  t.equal(done.size, changes.length, 'each sort of change was made');
});
