import { readFileSync } from 'node:fs';
import t from 'tap';
import { Libpcap } from '../../../src/engine/bpf/libpcap.js';
import { Refusal } from '../../../src/base/errors/errors.js';
import { matcherOf } from '../../../src/engine/wire/bpf.js';
import { interpretBpf } from '../../support/bpf-interpreter.js';
import { libpcapLack, newJudge } from '../../support/libpcap.js';
import { LINK_TYPES, randomPacket } from '../../support/packets.js';
import { Random, testSeed } from '../../support/random.js';

const lack = libpcapLack();
const ETHERNET = 1;
const SNAPLEN = 65_535;
const PACKETS = 4000;

function findLibpcap(): Libpcap {
  const found = Libpcap.find();
  if (found === undefined) throw new Error('there is no libpcap');
  return found;
}

const ANYWHERE = [
  ...['ip', 'ip6', 'tcp', 'udp', 'icmp', 'tcp port 80', 'host 10.0.0.1', 'port 53', 'src net 10.0.1.0/24'],
  ...[
    'tcp[tcpflags] & (tcp-syn|tcp-ack) = tcp-syn',
    'udp[4:2] > 0x7fff',
    'ip[0] & 0xf != 5',
    'portrange 50-90',
  ],
  ...[
    'len > 80',
    'less 64',
    'ip6 host fe80::1',
    'tcp[((tcp[12] & 0xf0) >> 2):4] > 0x7fffffff',
    'ip proto 89',
  ],
  ...['host 10.0.0.1 and not (tcp port 80 or udp port 53)', 'ip[6:2] & 0x1fff != 0', 'ip[2:2] % 3 = 1'],
  ...[
    '(ip[2:2] - ((ip[0] & 0xf) << 2)) * 3 / 2 > 32',
    'icmp or ip6 proto 58',
    'ip[8] < 64 and ip[12:4] = ip[16:4]',
  ],
];
const OF_LINK: Readonly<Record<string, readonly string[]>> = {
  Ethernet: [
    'ether host 02:00:00:00:00:01',
    'broadcast or multicast',
    'vlan 1',
    'vlan and tcp port 80',
    'ether[0] & 1 = 1',
  ],
  SUNATM: ['vpi 1', 'vci 40', 'vpi 0 and vci 39 and tcp', 'vpi 2 or host 10.0.0.2'],
};

for (const link of LINK_TYPES) {
  void t.test(`programs for ${link.name} answer what libpcap answers`, { skip: lack }, (t) => {
    const seed = testSeed(link.number);
    const random = new Random(seed);
    // Libpcap knows the protocol of Frame Relay, but not where it begins: only these expressions make sense there.
    const sensible = link.name === 'Frame Relay' ? ['ip', 'ip6', 'len > 80', 'less 64'] : undefined;
    const packets = Array.from({ length: PACKETS }, () => randomPacket(random, link));
    const libpcap = findLibpcap();
    const judge = newJudge();
    for (const expression of [...ANYWHERE, ...(OF_LINK[link.name] ?? [])]) {
      const instructions = libpcap.compile(expression, link.number, SNAPLEN);
      const matches = matcherOf({ instructions });
      const verdicts = judge(expression, link.number);
      const memory = new Uint8Array(new SharedArrayBuffer(2048)).fill(0xff);
      let matched = 0;
      let wrong = 0;
      for (const [index, packet] of packets.entries()) {
        const offset = index % 100;
        memory.set(packet, offset);
        const isWanted = verdicts.matches(packet);
        const isSame =
          matches(memory, offset, packet.length) === isWanted &&
          interpretBpf(instructions, memory, offset, packet.length) === isWanted;
        if (!isSame) wrong++;
        if (isWanted) matched++;
      }
      verdicts.close();
      t.equal(wrong, 0, `${expression}: seed ${seed}`);
      if (sensible?.includes(expression) === false) continue;
      t.ok(matched > 0 && matched < PACKETS, `${expression}: ${matched} of ${PACKETS} match`);
    }
    t.end();
  });
}

void t.test("a bad expression is refused with libpcap's own words", { skip: lack }, (t) => {
  const libpcap = findLibpcap();
  const cases: readonly (readonly [expression: string, reason: RegExp])[] = [
    ['foo bar', /^Invalid BPF expression 'foo bar': syntax error$/],
    ['tcp port 80 and', /: syntax error$/],
    ['host 1.2.3.4.5', /: .*1\.2\.3\.4\.5/],
    ['port 70000', /: .*70000/],
    ['vpi 3', /: .*ATM/i],
    ['len / 0 = 1', /: division by zero$/],
    ['é', /^Invalid BPF expression 'é': /],
  ];
  for (const [expression, reason] of cases) {
    t.throws(() => libpcap.compile(expression, ETHERNET, SNAPLEN), {
      name: 'Refusal',
      status: 400,
      message: reason,
    });
  }
  t.throws(() => libpcap.compile('tcp', 9999, SNAPLEN), { status: 400, message: /link type 9999/ });
  t.end();
});

void t.test('a program that cannot be run is refused with the reason', { skip: lack }, (t) => {
  const libpcap = findLibpcap();
  const refuse = (expression: string, linkType = ETHERNET): string => {
    try {
      libpcap.compile(expression, linkType, SNAPLEN);
    } catch (error) {
      if (error instanceof Refusal) return error.message;
      throw error;
    }
    return 'nothing';
  };
  t.match(refuse('tcp\0 or nonsense'), "Invalid BPF expression 'tcp\\0 or nonsense': it has a NUL character");
  t.match(refuse(`${'tcp or '.repeat(600)}udp`), /…': it is longer than 4096 characters$/);
  t.match(refuse('inbound'), /: 'inbound', 'outbound'/);
  t.match(refuse('ip protochain 6'), /: 'protochain' makes a loop/);
  const pairs = Array.from({ length: 165 }, (_, index) => `vci ${index} and port ${index}`);
  t.match(
    refuse(pairs.join(' or '), 123),
    /: it makes \d+ instructions, at most 4096 are run: make it simpler$/,
  );
  t.end();
});

void t.test('an empty expression matches everything', { skip: lack }, (t) => {
  const matches = matcherOf({ instructions: findLibpcap().compile('', ETHERNET, SNAPLEN) });
  t.ok(matches(new Uint8Array(64), 0, 64));
  t.ok(matches(new Uint8Array(64), 0, 0));
  t.end();
});

void t.test('without the library there is none', (t) => {
  t.equal(Libpcap.find(['libpcap-not-there.so']), undefined);
  t.equal(Libpcap.find([]), undefined);
  // The C library is there on every Linux, and compiles nothing.
  t.equal(Libpcap.find(['libc.so.6']), undefined);
  t.end();
});

const isLinux = process.platform === 'linux';
void t.test(
  'neither programs nor refusals leave memory behind',
  { skip: lack || (!isLinux && 'reads /proc') },
  (t) => {
    const libpcap = findLibpcap();
    const expression = `${Array.from({ length: 40 }, (_, index) => `tcp[${index}]`).join(' + ')} = 5`;
    let refused = 0;
    const compileMany = (count: number): void => {
      for (let round = 0; round < count; round++) {
        libpcap.compile(expression, ETHERNET, SNAPLEN);
        try {
          libpcap.compile(`${expression} or`, ETHERNET, SNAPLEN);
        } catch {
          refused++;
        }
      }
    };
    const resident = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
    compileMany(500);
    // The memory of the language grows now and then; what is left behind grows in each part.
    const grown = Array.from({ length: 3 }, () => {
      const before = resident();
      compileMany(1000);
      return resident() - before;
    });
    t.equal(refused, 3500);
    // A program is 2 KB here, a handle more.
    t.ok(Math.min(...grown) < 1000, `${grown.join(', ')} KiB more`);
    t.end();
  },
);
