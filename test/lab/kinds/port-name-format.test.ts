import t from 'tap';
import { checkPortNames, ethernetPorts } from '../../../src/lab/kinds/adapter-ports.js';
import { parsePortNameFormat } from '../../../src/lab/kinds/port-name-format.js';
import { portOwnerOf } from '../../support/port-owners.js';
import { seededRandom } from '../../support/seeded-random.js';

const NUMBERS = { port: 3, segment: 1, adapter: 7 };

function nameOf(format: string): string {
  const parsed = parsePortNameFormat(format);
  return typeof parsed === 'string' ? `refused: ${parsed}` : parsed.nameOf(NUMBERS);
}

void t.test('a name is made of its format', (t) => {
  for (const [format, name] of [
    ['Ethernet{0}', 'Ethernet3'],
    ['Ethernet{1}/{0}', 'Ethernet1/3'],
    ['Ethernet{segment0}/{port0}', 'Ethernet1/3'],
    ['{adapter}', '7'],
    ['{port8}-{segment8}', '11-9'],
    ['{}:{}', '3:1'],
    ['eth{0:02d}', 'eth03'],
    ['eth{0:03}', 'eth003'],
    ['eth{0:3}', 'eth  3'],
    ['eth{0:d}', 'eth3'],
    ['eth{0:}', 'eth3'],
    ['{{{0}}}', '{3}'],
    ['plain', 'plain'],
    ['', ''],
    ['{00}', '3'],
    ['ä{0}', 'ä3'],
  ] as const) {
    t.equal(nameOf(format), name, format);
  }
  t.end();
});

void t.test('a wrong format is refused in the words of GNS3', (t) => {
  for (const [format, reason] of [
    ['{', "Single '{' encountered in format string"],
    ['}', "Single '}' encountered in format string"],
    ['a{0', "expected '}' before end of string"],
    ['{port9}', "'port9'"],
    ['{constructor}', "'constructor'"],
    ['{2}', 'Replacement index 2 out of range for positional args tuple'],
    ['{}{}{}', 'Replacement index 2 out of range for positional args tuple'],
    ['{0}{}', 'cannot switch from manual field specification to automatic field numbering'],
    ['{}{0}', 'cannot switch from automatic field numbering to manual field specification'],
    ['{0.real}', "the field '{0.real}' cannot be used"],
    ['{0!r}', "the field '{0!r}' cannot be used"],
    ['{0:>9}', "the field '{0:>9}' cannot be used"],
    ['{0:999999999}', "the field '{0:999999999}' cannot be used"],
    ['{0:{0}}', "the field '{0:{0}' cannot be used"],
    ['{0:99}'.repeat(3), 'the names could be longer than 255 characters'],
    ['x'.repeat(256), 'it is longer than 255 characters'],
  ] as const) {
    t.equal(nameOf(format), `refused: ${reason}`, format.slice(0, 40));
    t.throws(
      () => {
        checkPortNames(portOwnerOf({}, { portNameFormat: format }));
      },
      { status: 409, message: `Invalid port name format ${format.slice(0, 255)}: ${reason}` },
    );
  }
  checkPortNames(portOwnerOf({}));
  t.end();
});

void t.test('names stay short, whatever the format is', (t) => {
  const random = seededRandom(14);
  const parts = ['{', '}', '{0}', '{1:99}', '{:03d}', 'x', '{port', '8}', '{adapter}', ':', '{{', '/'];
  for (let round = 0; round < 3000; round++) {
    const length = 1 + Math.floor(random() * 60);
    const format = Array.from({ length }, () => parts[Math.floor(random() * parts.length)]).join('');
    const parsed = parsePortNameFormat(format);
    if (typeof parsed !== 'string') {
      const longest = parsed.nameOf({ port: 9000, segment: 9000, adapter: 9000 });
      if (longest.length > 255) t.fail(`${format} makes a name of ${longest.length}`);
    }
    const { ports } = ethernetPorts(portOwnerOf({}, { portNameFormat: format }), {
      count: 2,
      portsEach: 1,
      otherwise: 'Ethernet{0}',
    });
    if (typeof parsed === 'string')
      t.same(
        ports.map(({ name }) => name),
        ['Ethernet0', 'Ethernet1'],
      );
  }
  t.end();
});
