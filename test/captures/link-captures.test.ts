import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import type { CaptureSettings } from '../../src/captures/capture-settings.js';
import type { Capture } from '../../src/captures/capture.js';
import { LinkCaptures, type LinkCapturesOptions } from '../../src/captures/link-captures.js';
import type { PortCaptures } from '../../src/captures/port-captures.js';
import type { Project } from '../../src/lab/projects/project.js';
import type { ComputeRun } from '../../src/run/compute-run.js';
import type { StoredLink } from '../../src/lab/gns3-file/topology-schema.js';
import { idOf, storedLinkOf, storedNodeOf } from '../support/stored-objects.js';

interface Begun {
  readonly settings: CaptureSettings;
  readonly onEnded: () => void;
  readonly give: () => void;
  readonly fail: () => void;
}

/** Captures whose beginning and end are the test's to say. */
class Bench {
  readonly begun: Begun[] = [];
  readonly stops: string[] = [];
  readonly #holds = new Set<object>();
  shown = 0;
  isFull = false;
  readonly captures: LinkCaptures;
  readonly links: Map<string, StoredLink>;

  constructor(links: readonly StoredLink[], names: readonly string[]) {
    this.links = new Map(links.map((link) => [link.link_id, link]));
    const nodes = names.map((name, index) => storedNodeOf(index + 1, { name }));
    const topology = {
      run: {},
      links: this.links,
      nodes: new Map(nodes.map((node) => [node.node_id, node])),
      captures: new Map(),
    };
    const project = {
      id: 'project',
      topology,
      publish: () => {
        if (this.isFull) return Promise.reject(new Error('the store is full'));
        this.shown++;
        return Promise.resolve();
      },
      hold: () => {
        const hold = {};
        this.#holds.add(hold);
        return () => this.#holds.delete(hold);
      },
    };
    const near = { node: {}, port: 0 };
    const run = {
      listen: () => () => undefined,
      settled: () => undefined,
      wires: { get: (id: string) => ({ near, far: near, run: { link: this.links.get(id) } }) },
    };
    const start: PortCaptures['start'] = (_node, _port, { settings, onEnded = () => undefined }) =>
      new Promise<Capture>((resolve, reject) => {
        this.begun.push({
          settings,
          onEnded,
          give: () => {
            resolve(this.#capture(settings, onEnded));
          },
          fail: () => {
            reject(new Error('the disk is full'));
          },
        });
      });
    this.captures = new LinkCaptures(
      project as unknown as Project,
      {
        ports: { start } as unknown as PortCaptures,
        runOf: () => run as unknown as ComputeRun,
      } as unknown as LinkCapturesOptions,
    );
  }

  get held(): number {
    return this.#holds.size;
  }

  #capture({ capture_file_name: name = '' }: CaptureSettings, onEnded: () => void): Capture {
    const capture = {
      plan: { folder: '/p', path: `captures/${name}` },
      state: 'running',
      end: () => {
        this.stops.push(name);
        capture.state = 'stopped';
        onEnded();
        return Promise.resolve();
      },
      counters: () => ({ packets: 4, firstAt: 1000, lastAt: 0 }),
      file: { wholeBytes: 24 },
    };
    return capture as unknown as Capture;
  }
}

const LINK = idOf(9);
const bench = (): Bench => new Bench([storedLinkOf(9, [1, 0], [2, 3])], ['PC 1', 'SW_1']);

void t.test('a capture holds its project from the request to its end', async (t) => {
  const lab = bench();
  const started = lab.captures.start(LINK, {});
  await setImmediate();
  t.equal(lab.held, 1);
  t.same(lab.begun[0]?.settings, { capture_file_name: 'PC1_0-0_to_SW_1_0-3.pcap' });
  t.match(
    [...lab.captures.files()],
    [{ name: 'PC1_0-0_to_SW_1_0-3.pcap', linkId: LINK, packets: 0, firstAt: null }],
  );
  lab.begun[0]?.give();
  await started;
  t.equal(lab.shown, 1);
  t.match([...lab.captures.files()], [{ packets: 4, firstAt: 1000, lastAt: null }]);
  t.equal(lab.captures.get(LINK)?.isRunning, true);
  await lab.captures.stop(LINK);
  t.same([lab.held, lab.shown], [0, 2], 'the stop is told of once');
  t.same([...lab.captures.files()], []);
});

void t.test('a capture that could not begin leaves nothing', async (t) => {
  const lab = bench();
  const started = lab.captures.start(LINK, { capture_file_name: 'x' });
  await setImmediate();
  lab.begun[0]?.fail();
  await t.rejects(started, { message: 'the disk is full' });
  t.same([lab.held, lab.shown, [...lab.captures.files()]], [0, 0, []]);
  t.equal(lab.captures.get(LINK), undefined);
  const again = lab.captures.start(LINK, { capture_file_name: 'x' });
  await setImmediate();
  lab.begun[1]?.give();
  await again;
});

void t.test('a capture that cannot be stored is ended and refused', async (t) => {
  const lab = bench();
  const started = lab.captures.start(LINK, { capture_file_name: 'x' });
  await setImmediate();
  lab.isFull = true;
  lab.begun[0]?.give();
  await t.rejects(started, { message: 'the store is full' });
  t.same([lab.stops, lab.held, [...lab.captures.files()]], [['x'], 0, []]);
  t.equal(lab.captures.get(LINK)?.isRunning, false);
});

void t.test('a second start is refused while the first is under way, and a stop waits for it', async (t) => {
  const lab = bench();
  const started = lab.captures.start(LINK, {});
  await t.rejects(lab.captures.start(LINK, {}), { message: 'Port 0 has already a filter applied' });
  const ensured = lab.captures.ensure(LINK, {});
  const stopped = lab.captures.stop(LINK);
  t.same(lab.stops, []);
  lab.begun[0]?.give();
  await Promise.all([started, stopped]);
  t.equal(lab.stops.length, 1);
  t.equal(await ensured, false, 'it ran when it was asked for');
  t.equal(lab.begun.length, 1);
  const second = lab.captures.ensure(LINK, {});
  await setImmediate();
  lab.begun[1]?.give();
  t.equal(await second, true);
});

void t.test('a capture that ends by itself is reported', async (t) => {
  const lab = bench();
  const started = lab.captures.start(LINK, {});
  await setImmediate();
  lab.begun[0]?.give();
  await started;
  lab.begun[0]?.onEnded();
  t.same([lab.held, lab.shown], [0, 2]);
});

void t.test('a link that was deleted while its capture began has none', async (t) => {
  const lab = bench();
  const started = lab.captures.start(LINK, {});
  await setImmediate();
  lab.links.clear();
  lab.begun[0]?.give();
  await t.rejects(started, { message: `Link ID ${LINK} doesn't exist` });
  t.same([lab.stops.length, lab.held], [1, 0]);
  t.equal(lab.captures.get(LINK), undefined);
});

void t.test('names that are not chosen are never those of another', async (t) => {
  const links = [storedLinkOf(9, [1, 0], [2, 0]), storedLinkOf(10, [3, 0], [4, 0])];
  const lab = new Bench(links, ['PC 1', 'X', 'PC1', 'X ']);
  void lab.captures.start(idOf(9), { format: 'pcapng' });
  void lab.captures.start(idOf(10), { format: 'pcapng' });
  await setImmediate();
  t.same(
    lab.begun.map(({ settings }) => settings.capture_file_name),
    ['PC1_0-0_to_X_0-0.pcapng', `PC1_0-0_to_X_0-0_to_${idOf(10)}.pcapng`],
  );
});
