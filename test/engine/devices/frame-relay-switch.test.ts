import t from 'tap';
import type { CounterName } from '../../../src/base/memory/port-counters.js';
import {
  FrameRelaySwitch,
  type FrameRelayConnection,
  type FrameRelaySettings,
} from '../../../src/engine/devices/frame-relay-switch.js';
import type { LmiDialect } from '../../../src/engine/wire/lmi.js';
import { DeviceRig, type Sent } from '../../support/device-rig.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';

const DIALECTS: readonly LmiDialect[] = ['ansi', 'q933a', 'cisco'];
const HEADS: Readonly<Record<LmiDialect, string>> = {
  ansi: '0001030800',
  q933a: '0001030800',
  cisco: 'fcf1030900',
};

const octets = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const hexOf = (...numbers: readonly number[]): string => Buffer.from(numbers).toString('hex');

/** A frame of data with no bit set but those of the DLCI and the end of the address. */
function frame(dlci: number, payload = '0300cc45'): Buffer {
  return octets(hexOf((dlci >> 4) << 2, ((dlci & 15) << 4) | 1) + payload);
}

type Exchange = readonly [report: number, sendSequence: number, receiveSequence: number];

/** Everything of an enquiry or an answer but its PVCs. */
function lmi(dialect: LmiDialect, message: string, [report, send, receive]: Exchange): string {
  const head = `${HEADS[dialect]}${message}${dialect === 'ansi' ? '95' : ''}`;
  const [reportElement, sequenceElement] = dialect === 'q933a' ? ['51', '53'] : ['01', '03'];
  return `${head}${reportElement}01${hexOf(report)}${sequenceElement}02${hexOf(send, receive)}`;
}

const enquiry = (dialect: LmiDialect, ...exchange: Exchange): Buffer => octets(lmi(dialect, '75', exchange));

/** The part of a full status about one PVC. */
function pvc(dialect: LmiDialect, dlci: number, status: number): string {
  if (dialect === 'cisco') return `0706${hexOf(dlci >> 8, dlci & 255, status)}000000`;
  const element = dialect === 'ansi' ? '07' : '57';
  return `${element}03${hexOf(dlci >> 4, 0x80 + (dlci & 15) * 8, 0x80 + status)}`;
}

const INACTIVE = 0;
const ACTIVE = 2;
const NEW = 8;

function answer(
  dialect: LmiDialect,
  exchange: Exchange,
  pvcs: readonly (readonly [dlci: number, status: number])[] = [],
): string {
  return lmi(dialect, '7d', exchange) + pvcs.map(([dlci, status]) => pvc(dialect, dlci, status)).join('');
}

function connection(
  [port, dlci]: readonly [port: number, dlci: number],
  [toPort, toDlci]: readonly [port: number, dlci: number],
  counter = 0,
): FrameRelayConnection {
  return { port, dlci, toPort, toDlci, counter };
}

function rigOf(
  connections: readonly FrameRelayConnection[],
  workspace?: number,
): DeviceRig<FrameRelaySettings> {
  const rig = new DeviceRig((fabric) => new FrameRelaySwitch(fabric), workspace);
  rig.device.configure({ connections });
  return rig;
}

/** The frames that are sent, as text that a failing test can show. */
const shown = (sent: readonly Sent[]): string[] =>
  sent.map(({ port, bytes }) => `${port} ${bytes.toString('hex')}`);

void t.test('a frame leaves with the DLCI of the other end, and everything else as it came', (t) => {
  const rig = rigOf([connection([1, 102], [2, 201], 5), connection([1, 16], [2, 1022], 6)]);
  rig.attach(1, 2);
  const sent = rig.receive(1, [octets('1a6f 0300cc45'), octets('0401'), octets('186d ff'), octets('1861')]);
  t.same(shown(sent), ['2 329f0300cc45', '2 fce1', '2 309dff', '2 3091'], 'with C/R, FECN, BECN and DE');
  t.same(rig.counters(1), { frames_in: 4, octets_in: 13 });
  t.same(rig.counters(2), { frames_out: 4, octets_out: 13 });
  t.same(Array.from(rig.fabric.connectionCounters.slice(5, 7)), [3, 1]);
  t.end();
});

void t.test('a frame that has no address of two octets is dropped', (t) => {
  const rig = rigOf([connection([1, 102], [2, 201])]);
  rig.attach(1, 2);
  const frames = ['', '18', '19', '1960', '1961 03', '1860', '1860 0141', 'ffff'].map(octets);
  t.same(rig.receive(1, frames), []);
  t.equal(rig.counter(1, 'malformed'), frames.length);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('a DLCI is known at the port that it is mapped at, and only there', (t) => {
  const rig = rigOf([connection([1, 102], [2, 201])]);
  rig.attach(1, 2);
  t.same(rig.receive(1, [frame(103), frame(201), frame(1022)]), []);
  t.same(rig.receive(2, [frame(102), frame(201)]), []);
  t.equal(rig.counter(1, 'no_connection'), 3);
  t.equal(rig.counter(2, 'no_connection'), 2);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('a connection to a port that is attached later carries from then on', (t) => {
  const rig = rigOf([connection([1, 102], [2, 201], 1)]);
  rig.attach(1);
  t.same(rig.receive(1, [frame(102)]), []);
  t.equal(rig.counter(1, 'no_output'), 1);
  rig.attach(2);
  t.same(rig.receive(1, [frame(102)]).length, 1);
  rig.detach(2);
  t.same(rig.receive(1, [frame(102)]), []);
  t.equal(rig.counter(1, 'no_output'), 2);
  t.equal(rig.fabric.connectionCounters[1], 1);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('two inputs may share an output, and an output may be the input', (t) => {
  const rig = rigOf([
    connection([1, 100], [3, 300], 1),
    connection([2, 100], [3, 300], 2),
    connection([1, 17], [1, 18], 3),
  ]);
  rig.attach(1, 2, 3);
  t.same(rig.receive(1, [frame(100, '01'), frame(17, '02')]), [
    { port: 3, bytes: frame(300, '01') },
    { port: 1, bytes: frame(18, '02') },
  ]);
  t.same(rig.receive(2, [frame(100, '03')]), [{ port: 3, bytes: frame(300, '03') }]);
  t.same(Array.from(rig.fabric.connectionCounters.slice(1, 4)), [1, 1, 1]);
  t.end();
});

void t.test('a change of the connections changes them and nothing else', (t) => {
  const kept = connection([1, 100], [2, 200], 1);
  const rig = rigOf([kept, connection([1, 101], [2, 201], 2), connection([1, 102], [2, 202], 3)]);
  rig.attach(1, 2, 3);
  const frames = [frame(100), frame(101), frame(102), frame(103)];
  t.equal(rig.receive(1, frames).length, 3);
  rig.device.configure({
    connections: [connection([1, 103], [3, 303], 4), connection([1, 101], [3, 301], 2), { ...kept }],
  });
  t.same(rig.receive(1, frames), [
    { port: 2, bytes: frame(200) },
    { port: 3, bytes: frame(301) },
    { port: 3, bytes: frame(303) },
  ]);
  t.same(Array.from(rig.fabric.connectionCounters.slice(1, 5)), [2, 2, 1, 1]);
  rig.device.configure({ connections: [] });
  t.same(rig.receive(1, frames), []);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('a connection of which one number is changed is another', (t) => {
  const rig = rigOf([]);
  rig.attach(1, 2, 3);
  for (const [to, counter] of [
    [[2, 200], 1],
    [[2, 201], 1],
    [[3, 201], 1],
    [[3, 201], 2],
  ] as const) {
    rig.device.configure({ connections: [connection([1, 100], to, counter)] });
    t.same(shown(rig.receive(1, [frame(100)])), [`${to[0]} ${frame(to[1]).toString('hex')}`]);
  }
  t.same(Array.from(rig.fabric.connectionCounters.slice(1, 3)), [3, 1]);
  t.end();
});

for (const dialect of DIALECTS) {
  void t.test(`a full status enquiry is answered where it came from (${dialect})`, (t) => {
    const rig = rigOf([
      connection([1, 1022], [2, 17]),
      connection([1, 100], [3, 300]),
      connection([2, 17], [1, 1022]),
      connection([1, 16], [2, 40]),
    ]);
    rig.attach(1, 2);
    t.same(shown(rig.receive(1, [enquiry(dialect, 0, 1, 0)])), [
      `1 ${answer(
        dialect,
        [0, 1, 1],
        [
          [16, ACTIVE + NEW],
          [100, INACTIVE + NEW],
          [1022, ACTIVE + NEW],
        ],
      )}`,
    ]);
    t.match(rig.counters(1), { frames_in: 1, consumed: 1, originated: 1, frames_out: 1 });
    t.equal(rig.unaccounted, 0);
    rig.attach(3);
    rig.detach(2);
    t.same(
      shown(rig.receive(1, [enquiry(dialect, 0, 2, 1)])),
      [
        `1 ${answer(
          dialect,
          [0, 2, 2],
          [
            [16, INACTIVE],
            [100, ACTIVE],
            [1022, INACTIVE],
          ],
        )}`,
      ],
      'what is active follows the far ports',
    );
    t.end();
  });

  void t.test(`a link integrity enquiry is answered without PVCs (${dialect})`, (t) => {
    const rig = rigOf([connection([1, 100], [2, 200])]);
    rig.attach(1, 2);
    t.same(shown(rig.receive(1, [enquiry(dialect, 1, 7, 0)])), [`1 ${answer(dialect, [1, 1, 7])}`]);
    t.same(shown(rig.receive(2, [enquiry(dialect, 1, 9, 0)])), [`2 ${answer(dialect, [1, 1, 9])}`]);
    t.end();
  });

  void t.test(`a port can have every DLCI there is (${dialect})`, (t) => {
    const dlcis = Array.from({ length: 1022 }, (_, index) => index + 1);
    const rig = rigOf(
      dlcis.toReversed().map((dlci) => connection([1, dlci], [2 + (dlci % 2), 1023 - dlci], dlci)),
    );
    rig.attach(1, 2);
    const [sent] = rig.receive(1, [enquiry(dialect, 0, 1, 0)]);
    t.equal(sent?.bytes.length, { ansi: 5124, q933a: 5123, cisco: 8189 }[dialect]);
    const pvcs = dlcis.map((dlci) => [dlci, NEW + (dlci % 2 === 0 ? ACTIVE : INACTIVE)] as const);
    t.equal(sent?.bytes.toString('hex'), answer(dialect, [0, 1, 1], pvcs));
    rig.attach(3);
    const frames = rig.receive(
      1,
      dlcis.map((dlci) => frame(dlci)),
    );
    t.same(
      shown(frames).sort(),
      dlcis.map((dlci) => `${2 + (dlci % 2)} ${frame(1023 - dlci).toString('hex')}`).sort(),
    );
    t.ok(rig.fabric.connectionCounters.slice(1, 1023).every((count) => count === 1));
    t.end();
  });
}

void t.test('an enquiry among data is answered in its place, and the data goes its way', (t) => {
  const rig = rigOf([connection([1, 100], [1, 100]), connection([1, 16], [2, 17])]);
  rig.attach(1, 2);
  t.same(shown(rig.receive(1, [frame(16), frame(100), enquiry('ansi', 1, 3, 0), frame(100), frame(16)])), [
    `2 ${frame(17).toString('hex')}`,
    `2 ${frame(17).toString('hex')}`,
    `1 ${frame(100).toString('hex')}`,
    `1 ${answer('ansi', [1, 1, 3])}`,
    `1 ${frame(100).toString('hex')}`,
  ]);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('frames with DLCI 0 or 1023 that are not enquiries are dropped', (t) => {
  const rig = rigOf([connection([1, 100], [2, 200])]);
  rig.attach(1, 2);
  const frames = [
    octets('0001'),
    octets('fcf1'),
    frame(0),
    frame(1023),
    octets(answer('ansi', [0, 1, 1])),
    enquiry('ansi', 2, 1, 0),
    enquiry('cisco', 255, 1, 0),
    enquiry('q933a', 0, 1, 0).subarray(0, 12),
    Buffer.concat([enquiry('ansi', 0, 1, 0), Buffer.alloc(1)]),
  ];
  t.same(rig.receive(1, frames), []);
  t.equal(rig.counter(1, 'malformed'), frames.length);
  t.equal(rig.counter(1, 'consumed'), 0);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('a mapped DLCI 1023 carries data, and enquiries are still answered', (t) => {
  const rig = rigOf([connection([1, 1023], [2, 200])]);
  rig.attach(1, 2);
  t.same(shown(rig.receive(1, [frame(1023), enquiry('cisco', 1, 5, 0)])), [
    `2 ${frame(200).toString('hex')}`,
    `1 ${answer('cisco', [1, 1, 5])}`,
  ]);
  t.end();
});

void t.test('sequence numbers go to 255 and then to 1, port by port', (t) => {
  const rig = rigOf([]);
  rig.attach(1, 2);
  const enquiries = Array.from({ length: 600 }, (_, index) => enquiry('ansi', 1, index % 256, 0));
  const sequences = rig.receive(1, enquiries).map(({ bytes }) => [...bytes.subarray(-2)]);
  t.same(
    sequences,
    enquiries.map((_, index) => [1 + (index % 255), index % 256]),
    'and those of the enquirer are echoed',
  );
  t.same(shown(rig.receive(2, [enquiry('cisco', 1, 4, 0)])), [`2 ${answer('cisco', [1, 1, 4])}`]);
  t.end();
});

void t.test('a PVC is new until a full status that tells of it is acknowledged', (t) => {
  const first = connection([1, 100], [2, 200]);
  const rig = rigOf([first]);
  rig.attach(1, 2);
  const ask = (...exchange: Exchange): string[] => shown(rig.receive(1, [enquiry('ansi', ...exchange)]));
  const full = (exchange: Exchange, ...pvcs: readonly [number, number][]): string[] => [
    `1 ${answer('ansi', exchange, pvcs)}`,
  ];
  t.same(ask(0, 1, 0), full([0, 1, 1], [100, ACTIVE + NEW]));
  t.same(ask(0, 2, 0), full([0, 2, 2], [100, ACTIVE + NEW]), 'the answer was lost');
  ask(1, 3, 0);
  ask(1, 4, 3);
  t.same(ask(0, 5, 4), full([0, 5, 5], [100, ACTIVE + NEW]), 'what is seen later is no full status');
  rig.device.configure({ connections: [first, connection([1, 50], [2, 51])] });
  ask(1, 6, 5);
  t.same(ask(0, 7, 6), full([0, 7, 7], [50, ACTIVE + NEW], [100, ACTIVE]), 'one came after the full status');
  t.same(ask(0, 8, 7), full([0, 8, 8], [50, ACTIVE], [100, ACTIVE]));
  rig.device.configure({ connections: [connection([1, 50], [2, 51])] });
  t.same(ask(0, 9, 8), full([0, 9, 9], [50, ACTIVE]), 'one went');
  rig.device.configure({ connections: [first, connection([1, 50], [2, 52])] });
  t.same(ask(0, 10, 9), full([0, 10, 10], [50, ACTIVE + NEW], [100, ACTIVE + NEW]), 'one is another now');
  t.end();
});

void t.test('to a router that is attached anew all PVCs are new', (t) => {
  const rig = rigOf([connection([1, 100], [2, 200])]);
  rig.attach(1, 2);
  rig.receive(1, [enquiry('ansi', 0, 1, 0)]);
  rig.receive(1, [enquiry('ansi', 1, 2, 1)]);
  rig.detach(1);
  rig.attach(1);
  t.same(shown(rig.receive(1, [enquiry('cisco', 0, 90, 2)])), [
    `1 ${answer('cisco', [0, 1, 90], [[100, ACTIVE + NEW]])}`,
  ]);
  t.end();
});

void t.test('an enquiry that there is no room to answer is as if it had not come', (t) => {
  const rig = rigOf([connection([1, 100], [2, 200]), connection([1, 101], [2, 201])], 40);
  rig.attach(1, 2);
  const before = rig.device.inspect();
  // The first answer takes 24 of 40 octets, the second 14, and then there is room for none.
  const sent = rig.receive(
    1,
    [0, 1, 1, 0].map((report, index) => enquiry('ansi', report, index + 1, 0)),
  );
  t.same(shown(sent), [
    `1 ${answer(
      'ansi',
      [0, 1, 1],
      [
        [100, ACTIVE + NEW],
        [101, ACTIVE + NEW],
      ],
    )}`,
    `1 ${answer('ansi', [1, 2, 2])}`,
  ]);
  t.match(rig.counters(1), { frames_in: 4, consumed: 2, originated: 2, no_memory: 2, frames_out: 2 });
  t.equal(rig.unaccounted, 0);
  t.same(
    shown(rig.receive(1, [enquiry('ansi', 1, 9, 2)])),
    [`1 ${answer('ansi', [1, 3, 9])}`],
    'in the next turn',
  );
  const none = rigOf([connection([1, 100], [2, 200]), connection([1, 101], [2, 201])], 23);
  none.attach(1, 2);
  t.same(none.receive(1, [enquiry('ansi', 0, 1, 0)]), []);
  t.same(none.device.inspect(), before);
  t.equal(none.unaccounted, 0);
  t.end();
});

void t.test('inspection tells of ports, their enquirers and their DLCIs, as plain data', (t) => {
  const rig = rigOf([
    connection([7, 100], [2, 200]),
    connection([2, 200], [7, 100]),
    connection([7, 3], [9, 1]),
  ]);
  rig.attach(10, 2);
  rig.fabric.seconds = 2000.5;
  rig.receive(2, [enquiry('cisco', 0, 77, 0)]);
  rig.receive(2, [enquiry('q933a', 1, 78, 1)]);
  rig.fabric.seconds = 2010;
  const silent = {
    dialect: null,
    enquiries: 0,
    last_enquiry_seconds_ago: null,
    send_sequence: 0,
    receive_sequence: 0,
  };
  const state = rig.device.inspect();
  t.strictSame(state, {
    ports: [
      {
        port: 2,
        lmi: {
          dialect: 'q933a',
          enquiries: 2,
          last_enquiry_seconds_ago: 9.5,
          send_sequence: 2,
          receive_sequence: 78,
        },
        dlcis: [{ dlci: 200, to_port: 7, to_dlci: 100, active: false }],
      },
      {
        port: 7,
        lmi: silent,
        dlcis: [
          { dlci: 3, to_port: 9, to_dlci: 1, active: false },
          { dlci: 100, to_port: 2, to_dlci: 200, active: true },
        ],
      },
      { port: 10, lmi: silent, dlcis: [] },
    ],
  });
  t.strictSame(JSON.parse(JSON.stringify(state)), state);
  t.strictSame(structuredClone(state), state);
  t.end();
});

/** Every form of an enquiry, with its elements in either order. */
const ENQUIRIES = DIALECTS.flatMap((dialect) => {
  const [first, second] = dialect === 'q933a' ? ['51', '53'] : ['01', '03'];
  const start = `^${HEADS[dialect]}75${dialect === 'ansi' ? '95' : ''}`;
  const report = `${first}010(?<report>[01])`;
  const sequences = `${second}02(?<send>..)(?<receive>..)`;
  return [`${start}${report}${sequences}$`, `${start}${sequences}${report}$`].map((pattern) => {
    return { dialect, pattern: new RegExp(pattern) };
  });
});

/** The state of LMI at a port of the model. */
interface ModelledLmi {
  sequence: number;
  told: FrameRelayConnection[];
}

/** A model of a Frame Relay switch, in text. */
class FrameRelayModel {
  readonly attached = new Set<number>();
  readonly #counted = new Map<string, number>();
  readonly #lmi = new Map<number, ModelledLmi>();
  #connections: readonly FrameRelayConnection[] = [];
  readonly #known = new Set<FrameRelayConnection>();

  /** The same connection is the same object, before and after. */
  configure(connections: readonly FrameRelayConnection[]): void {
    for (const one of this.#connections) if (!connections.includes(one)) this.#known.delete(one);
    this.#connections = connections;
  }

  attach(port: number): void {
    this.attached.add(port);
    this.#lmi.set(port, { sequence: 0, told: [] });
    for (const one of this.#connections) if (one.port === port) this.#known.delete(one);
  }

  counter(port: number, name: CounterName): number {
    return this.#counted.get(`${port} ${name}`) ?? 0;
  }

  lastSequence(port: number): number {
    return this.#lmi.get(port)?.sequence ?? 0;
  }

  receive(port: number, frames: readonly Buffer[]): string[] {
    const leaving = new Map<number, string[]>();
    for (const bytes of frames) {
      this.#count(port, 'frames_in');
      const [to, sent] = this.#switch(port, bytes.toString('hex'));
      if (typeof to === 'string') {
        this.#count(port, to);
        continue;
      }
      this.#count(to, 'frames_out');
      leaving.set(to, [...(leaving.get(to) ?? []), `${to} ${sent}`]);
    }
    return [...leaving.values()].flat();
  }

  #switch(port: number, hex: string): readonly [to: number | CounterName, sent: string] {
    const bits = parseInt(`1${hex.slice(0, 4)}`, 16)
      .toString(2)
      .slice(1);
    if (hex.length < 4 || bits[7] !== '0' || bits[15] !== '1') return ['malformed', ''];
    const dlci = parseInt(bits.slice(0, 6) + bits.slice(8, 12), 2);
    const isLmi = dlci === 0 || dlci === 1023;
    const sent = isLmi ? this.#answer(port, hex) : undefined;
    if (sent !== undefined) return [port, sent];
    const found = this.#connections.find((one) => one.port === port && one.dlci === dlci);
    if (found === undefined) return [isLmi ? 'malformed' : 'no_connection', ''];
    if (!this.attached.has(found.toPort)) return ['no_output', ''];
    const label = found.toDlci.toString(2).padStart(10, '0');
    const address = label.slice(0, 6) + bits.slice(6, 8) + label.slice(6) + bits.slice(12, 16);
    return [found.toPort, parseInt(address, 2).toString(16).padStart(4, '0') + hex.slice(4)];
  }

  #answer(port: number, hex: string): string | undefined {
    const form = ENQUIRIES.find(({ pattern }) => pattern.test(hex));
    const exchange = this.#lmi.get(port);
    if (form === undefined || exchange === undefined) return undefined;
    const { report, send = '', receive = '' } = form.pattern.exec(hex)?.groups ?? {};
    if (parseInt(receive, 16) === exchange.sequence) for (const one of exchange.told) this.#known.add(one);
    exchange.sequence = exchange.sequence === 255 ? 1 : exchange.sequence + 1;
    exchange.told = report === '0' ? this.#connections.filter((one) => one.port === port) : [];
    exchange.told.sort((a, b) => a.dlci - b.dlci);
    this.#count(port, 'consumed');
    this.#count(port, 'originated');
    const pvcs = exchange.told.map((one) => {
      const active = this.attached.has(one.toPort) ? ACTIVE : INACTIVE;
      return [one.dlci, active + (this.#known.has(one) ? 0 : NEW)] as const;
    });
    return answer(form.dialect, [Number(report), exchange.sequence, parseInt(send, 16)], pvcs);
  }

  #count(port: number, name: CounterName): void {
    this.#counted.set(`${port} ${name}`, this.counter(port, name) + 1);
  }
}

const PORTS = [1, 2, 3, 4, 5];
const DLCIS = [1, 2, 15, 16, 17, 100, 255, 256, 511, 512, 1007, 1022, 1023];
const MODELLED: readonly CounterName[] = [
  'frames_in',
  'frames_out',
  'consumed',
  'originated',
  'malformed',
  'no_connection',
  'no_output',
];

/** Some connections go, some come, some lead elsewhere than before. */
function changed(
  random: Random,
  before: readonly FrameRelayConnection[],
  counter: () => number,
): FrameRelayConnection[] {
  const byInput = new Map<string, FrameRelayConnection>();
  const lost = random.pick([0, 0.1, 1]);
  for (const one of before) if (!random.chance(lost)) byInput.set(`${one.port} ${one.dlci}`, one);
  for (let left = random.below(30); left > 0; left--) {
    const [port, dlci] = [random.pick(PORTS), random.pick(DLCIS)];
    const to = [random.pick(PORTS), 1 + random.below(1022)] as const;
    byInput.set(`${port} ${dlci}`, connection([port, dlci], to, counter()));
  }
  return [...byInput.values()];
}

/** An enquiry, in one of three with an octet changed, its end cut off or something added. */
function randomEnquiry(random: Random, noise: Buffer, lastSequence: number): Buffer {
  const receive = random.chance(0.7) ? lastSequence : random.below(256);
  const made = enquiry(random.pick(DIALECTS), random.below(2), random.below(256), receive);
  const damage = random.below(9);
  if (damage === 0) made.writeUInt8(random.below(256), random.below(made.length));
  if (damage === 1) return made.subarray(0, random.below(made.length));
  if (damage === 2) return Buffer.concat([made, noise.subarray(0, 1 + random.below(20))]);
  return made;
}

void t.test('two hundred thousand frames fare as in a model, whatever is changed between them', (t) => {
  const random = new Random(testSeed(20_041));
  const noise = new RandomBytes(testSeed(20_041));
  const rig = rigOf([]);
  const model = new FrameRelayModel();
  let connections: FrameRelayConnection[] = [];
  let [frames, changes, counters] = [0, 0, 0];
  let wrong = 0;
  while (frames < 200_000) {
    if (random.chance(0.1)) {
      connections = changed(random, connections, () => counters++);
      rig.device.configure({ connections: connections.map((one) => ({ ...one })) });
      model.configure(connections);
      changes++;
    }
    const port = random.pick(PORTS);
    if (!model.attached.has(port)) {
      rig.attach(port);
      model.attach(port);
    } else if (random.chance(0.05)) {
      rig.detach(port);
      model.attached.delete(port);
      continue;
    }
    const batch = Array.from({ length: 1 + random.below(60) }, () => {
      const bytes = noise.next(random.below(64));
      const kind = random.below(10);
      if (kind === 0) return bytes;
      if (kind < 3) return randomEnquiry(random, bytes, model.lastSequence(port));
      if (kind === 3) return Buffer.concat([frame(random.pick([0, 1023]), ''), bytes]);
      return Buffer.concat([frame(random.pick(DLCIS), ''), bytes]);
    });
    const expected = model.receive(port, batch);
    const sent = shown(rig.receive(port, batch));
    if (sent.length !== expected.length || sent.some((text, index) => text !== expected[index])) wrong++;
    frames += batch.length;
  }
  t.equal(wrong, 0, 'the same bytes leave at the same ports in the same order');
  for (const port of PORTS) {
    for (const name of MODELLED)
      t.equal(rig.counter(port, name), model.counter(port, name), `${port} ${name}`);
  }
  t.equal(rig.unaccounted, 0);
  t.ok(PORTS.every((port) => rig.counter(port, 'consumed') > 2000 && rig.counter(port, 'frames_out') > 5000));
  t.ok(changes > 300 && counters < 65_536);
  t.end();
});
