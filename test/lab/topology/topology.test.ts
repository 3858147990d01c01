import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { Channel } from '../../../src/base/streams/channel.js';
import { ConsolePorts } from '../../../src/lab/console-ports.js';
import { NEVER_WRITTEN, type LabRecords, type ProjectRecord } from '../../../src/lab/projects/records.js';
import type { DirectedFilters } from '../../../src/lab/topology/link-filters.js';
import type { LabRun, NodeState, RunLink } from '../../../src/lab/lab-run.js';
import { deleteNode } from '../../../src/lab/topology/nodes.js';
import { reserveLink, storeLink } from '../../../src/lab/topology/links.js';
import { Slices } from '../../../src/lab/projects/slices.js';
import { HostNumbers } from '../../../src/lab/topology/host-numbers.js';
import { Topology } from '../../../src/lab/topology/topology.js';
import {
  projectSettings,
  type StoredLink,
  type StoredNode,
} from '../../../src/lab/gns3-file/topology-schema.js';
import { Transaction } from '../../../src/lab/projects/transaction.js';
import { idOf, storedLinkOf, storedNodeOf } from '../../support/stored-objects.js';
import { NO_QUOTAS } from '../../support/no-quotas.js';

const PROJECT = idOf(1000);
const PORTS = {
  ports_mapping: [
    { name: 'Ethernet0', port_number: 0 },
    { name: 'Ethernet1', port_number: 1 },
  ],
};
const ATM = storedNodeOf(1, { node_type: 'atm_switch', properties: { mappings: { '1:0:100': '2:0:200' } } });
const HUB = storedNodeOf(2, { properties: PORTS });
const OTHER_HUB = storedNodeOf(5, { name: 'H2', properties: PORTS });
const ROUTER = storedNodeOf(3, { node_type: 'traceng', name: 'R1' });
const FAR_HUB = storedNodeOf(4, { compute_id: 'other', properties: PORTS });

const NOTHING_RUNS: LabRun = {
  nodeStored: () => undefined,
  nodeRemoved: () => undefined,
  stateOf: () => ({ status: 'started', commandLine: null, folder: null }),
  nodeReport: () => ({ state: 'running' }),
  linkReport: () => ({ state: 'running' }),
  giveInputs: () => undefined,
  checkMade: () => undefined,
  checkAble: () => Promise.resolve(),
  hostInterfaces: () => Promise.resolve([]),
  act: () => Promise.resolve(),
  planHold: () => Promise.resolve({ bytes: 0, folders: [], warnings: [] }),
  hold: () => Promise.resolve({ ran: [], release: () => Promise.resolve() }),
  holdFiles: () => Promise.resolve({ folders: [], running: [], release: () => Promise.resolve() }),
  startAgain: () => Promise.resolve(),
  connect: () => Promise.resolve(),
  linkStored: () => undefined,
  linkRemoved: () => undefined,
  takeRoom: () => Promise.resolve(() => undefined),
  putAway: () => Promise.resolve(),
  settled: () => undefined,
  checkFilters: () => Promise.resolve(),
  halt: () => Promise.resolve(),
  end: () => Promise.resolve(),
};

interface Made {
  readonly topology: Topology;
  readonly consolePorts: ConsolePorts;
  readonly events: { action: string; event: Record<string, unknown> }[];
}

async function make(
  nodes: readonly StoredNode[],
  links: readonly StoredLink[] = [],
  run: LabRun = NOTHING_RUNS,
  directed: readonly DirectedFilters[] = [],
): Promise<Made> {
  const channel = new Channel();
  const events: Made['events'] = [];
  channel.subscribe((line) => events.push(JSON.parse(line) as Made['events'][number]));
  const consolePorts = new ConsolePorts([5000, 10_000]);
  const context = {
    consoleHost: '127.0.0.1',
    consolePorts,
    hostNumbers: new HostNumbers(consolePorts),
    quotas: NO_QUOTAS,
    symbolSize: () => ({ width: 65, height: 59 }),
    checkCompute: () => undefined,
    hasCompute: (id: string) => id === 'local',
    isHere: (id: string) => id === 'local',
    beginRun: () => run,
  };
  const topology = new Topology(PROJECT, channel, context, {
    ...{ isShared: false, holds: () => true, epoch: () => Promise.resolve(1) },
  });
  const project: ProjectRecord = {
    order: 0,
    path: '/p',
    filename: 'p.gns3',
    settings: projectSettings.parse({ name: 'p' }),
    computes: [],
  };
  const records: LabRecords = {
    project,
    file: NEVER_WRITTEN,
    version: 0,
    entities: {
      node: nodes.map((object, order) => ({ order, object })),
      link: links.map((object, order) => ({ order, object })),
      drawing: [{ order: 0, object: { drawing_id: idOf(500) } }],
      directed: directed.map((object, order) => ({ order, object })),
      capture: [],
      lab_file: [],
      visited: [],
    },
  };
  await topology.load(records, new Slices());
  return { topology, consolePorts, events };
}

const numbersOf = (topology: Topology, node: StoredNode): number[] =>
  topology.portsOf(node).map((port) => port.port_number);

void t.test('the status of a node is asked of the run; a node that is only kept is stopped', async (t) => {
  const asked: string[] = [];
  const stateOf = ({ name }: StoredNode): NodeState => {
    asked.push(name);
    return { status: 'suspended', commandLine: null, folder: null };
  };
  const { topology } = await make([ATM, ROUTER, FAR_HUB], [], { ...NOTHING_RUNS, stateOf });
  t.same(
    [ATM, ROUTER, FAR_HUB].map((node) => topology.statusOf(node)),
    ['suspended', 'stopped', 'stopped'],
  );
  t.same([...new Set(asked)], [ATM.name]);
});

void t.test('loaded objects are announced one by one: nodes, links, drawings', async (t) => {
  const { events, topology } = await make([HUB, ATM], [storedLinkOf(9, 2)]);
  t.same(
    events.map(({ action }) => action),
    ['node.created', 'node.created', 'link.created', 'drawing.created'],
  );
  t.match(topology.nodes.published(HUB.node_id), `"project_id":"${PROJECT}"`);
  t.equal(topology.drawings.size, 1);
});

void t.test('a kind runs only on the local compute', async (t) => {
  const { topology } = await make([]);
  t.equal(topology.kindOf(HUB)?.type, 'ethernet_hub');
  t.equal(topology.kindOf(ROUTER), undefined);
  t.equal(topology.kindOf(FAR_HUB), undefined);
});

void t.test('the ports of a node are its own, and those that links hold all the same', async (t) => {
  const links = [storedLinkOf(9, [2, 1], [1, 2]), storedLinkOf(10, [2, 7], [3, 4])];
  const { topology } = await make([ATM, HUB, ROUTER, FAR_HUB], links);
  t.same(numbersOf(topology, ATM), [1, 2]);
  t.same(numbersOf(topology, HUB), [0, 1, 7]);
  t.same(numbersOf(topology, ROUTER), [4], 'of a node that is only kept, those that its links use');
  t.same(numbersOf(topology, FAR_HUB), [0, 1], 'whatever runs it');
  t.match(topology.findPort(HUB, 0, 7), { name: '0/7', short_name: '0/7', link_type: 'ethernet' });
  t.equal(topology.findPort(HUB, 1, 0), undefined);
});

void t.test('a link has the type of an end that knows it', async (t) => {
  const links = [storedLinkOf(9, [1, 1], [3, 0]), storedLinkOf(10, [3, 1], [1, 2]), storedLinkOf(11, [3, 2])];
  const { topology } = await make([ATM, ROUTER], links);
  t.same(
    links.map((link) => topology.linkType(link)),
    ['serial', 'serial', 'ethernet'],
  );
  t.same(
    topology.portsOf(ROUTER).map((port) => port.link_type),
    ['serial', 'serial', 'ethernet'],
    'the port that is only kept is of the type of its link',
  );
  t.match(topology.links.published(idOf(9)), '"link_type":"serial"');
});

void t.test('changed properties make new ports', async (t) => {
  const { topology } = await make([HUB]);
  const list = [...PORTS.ports_mapping, { name: 'Ethernet2', port_number: 2 }];
  t.same(numbersOf(topology, { ...HUB, properties: { ports_mapping: list } }), [0, 1, 2]);
  t.same(numbersOf(topology, HUB), [0, 1]);
  t.same(numbersOf(topology, storedNodeOf(7)), [], 'a node without properties has none');
});

void t.test('a removed link frees its ports, and the port shown for its sake goes', async (t) => {
  const link = storedLinkOf(9, [2, 7], [3, 4]);
  const { topology, events } = await make([HUB, ROUTER], [link]);
  events.length = 0;
  const transaction = new Transaction();
  topology.removeLink(transaction, link);
  t.same(numbersOf(topology, HUB), [0, 1]);
  t.match(topology.nodes.published(ROUTER.node_id), '"port_number":4');
  transaction.publishAll();
  t.notMatch(topology.nodes.published(ROUTER.node_id), '"port_number":4');
  t.same(
    events.map(({ action }) => action),
    ['link.deleted'],
  );
  t.equal(topology.links.size, 0);
});

void t.test('a link whose removal is undone holds its ports again', async (t) => {
  const link = storedLinkOf(9, [2, 0], [3, 4]);
  const { topology } = await make([HUB, ROUTER], [link]);
  const transaction = new Transaction();
  topology.removeLink(transaction, link);
  t.notOk(topology.portUse.isConnected(HUB.node_id));
  transaction.undoAll();
  t.ok(topology.portUse.isConnected(HUB.node_id));
  t.ok(topology.links.published(idOf(9)));
});

void t.test('consoles are reserved from loading to unloading, the stored port when it is free', async (t) => {
  const switches = [1, 2].map((number) =>
    storedNodeOf(number, { node_type: 'ethernet_switch', name: `S${number}`, console: 5005 }),
  );
  const { topology, consolePorts } = await make([...switches, { ...ROUTER, console: 5005 }]);
  t.same(consolePorts.reserved, [5000, 5005]);
  t.match(topology.nodes.get(idOf(1)), { console: 5005 });
  t.match(topology.nodes.get(idOf(2)), { console: 5000 });
  t.match(topology.nodes.get(idOf(3)), { console: 5005 }, 'a node that is only kept reserves nothing');
  await topology.unload('closing');
  t.same(consolePorts.reserved, []);
});

void t.test('a console reserved by a request that fails is given back', async (t) => {
  const { topology, consolePorts } = await make([]);
  const transaction = new Transaction();
  t.equal(topology.reserveConsole(transaction, 6000), 6000);
  transaction.undoAll();
  t.same(consolePorts.reserved, []);
});

void t.test('names of loaded nodes are taken', async (t) => {
  const { topology } = await make([ROUTER]);
  t.equal(topology.names.take('R1'), 'R2');
});

void t.test('the run is told of a link together with the filters of its directions', async (t) => {
  const told: RunLink[] = [];
  const run = { ...NOTHING_RUNS, linkStored: (link: RunLink) => told.push(link) };
  const directed = { link_id: idOf(9), forward: { delay: [5] }, backward: {}, seed: 3 };
  await make([HUB, ROUTER], [storedLinkOf(9, [2, 0], [3, 4]), storedLinkOf(10, [2, 1], [3, 5])], run, [
    directed,
  ]);
  t.match(told, [
    { link: { link_id: idOf(9) }, directed },
    { link: { link_id: idOf(10) }, directed: { forward: {}, backward: {}, seed: null } },
  ]);
});

/** Does the work in a transaction of its own, which succeeds. */
function stored<Result>(work: (transaction: Transaction) => Result): Result {
  const transaction = new Transaction();
  const result = work(transaction);
  transaction.publishAll();
  return result;
}

const FREE_ENDS = [HUB, OTHER_HUB].map(({ node_id }) => ({ node_id, adapter_number: 0, port_number: 0 }));

void t.test('a link that is being made holds its ports, and is seen when it is stored', async (t) => {
  const told: string[] = [];
  const run = { ...NOTHING_RUNS, linkStored: ({ link }: RunLink) => told.push(link.link_id) };
  const { topology, events } = await make([HUB, OTHER_HUB], [], run);
  events.length = 0;
  const reserve = (): StoredLink =>
    stored((transaction) => reserveLink(topology, transaction, { nodes: FREE_ENDS }));

  const failed = reserve();
  t.same([...topology.links.publishedTexts()], []);
  t.throws(reserve, refusals.portUsed(), 'nobody else gets the ports');
  topology.portUse.disconnect(failed);
  t.notOk(topology.portUse.isConnected(HUB.node_id));
  t.same(events, []);

  const made = reserve();
  t.equal(topology.links.published(made.link_id), undefined);
  stored((transaction) => storeLink(topology, transaction, made));
  t.match(topology.links.published(made.link_id), made.link_id);
  t.match(events, [{ action: 'link.created', event: { link_id: made.link_id } }]);
  t.same(told, [made.link_id]);
});

void t.test('a link to a node that has gone meanwhile is not stored', async (t) => {
  const { topology } = await make([HUB, OTHER_HUB]);
  const link = stored((transaction) => reserveLink(topology, transaction, { nodes: FREE_ENDS }));
  stored((transaction) => {
    deleteNode(topology, transaction, OTHER_HUB.node_id);
  });
  t.throws(() => storeLink(topology, new Transaction(), link), refusals.nodeUnknown(OTHER_HUB.node_id));
  t.equal(topology.links.size, 0);
});

void t.test('a link with fewer than two ends is stored, and announced to nobody', async (t) => {
  const { topology, events } = await make([HUB]);
  events.length = 0;
  const nodes = FREE_ENDS.slice(0, 1);
  const link = stored((transaction) => reserveLink(topology, transaction, { nodes }));
  stored((transaction) => storeLink(topology, transaction, link));
  t.match(topology.links.published(link.link_id), link.link_id);
  t.same(events, []);
});
