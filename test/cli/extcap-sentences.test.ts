/** Sentences as the parser of Wireshark takes them apart. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import {
  CONFIG_SENTENCES,
  DLT_SENTENCES,
  extcapSentence,
  interfaceSentence,
  parseInterface,
} from '../../src/cli/extcap-sentences.js';

/** As Wireshark 4.0 does. */
function parsed(sentence: string): Record<string, string> {
  const found = sentence.matchAll(/\{([a-zA-Z_-]*?)=(.*?)\}(?=\{|$|\s)/g);
  return Object.fromEntries([...found].map(([, key = '', value = '']) => [key, value]));
}

void t.test('an interface is found again by its value', (t) => {
  const [projectId, linkId] = [randomUUID(), randomUUID()];
  for (const from of [
    { projectId, linkId },
    { projectId, linkId: undefined },
  ]) {
    const { value = '' } = parsed(interfaceSentence(from, 'x'));
    t.match(value, /^[a-z0-9-]+$/, 'it is a file name, too: Wireshark puts it into that of the FIFO');
    t.same(parseInterface(value), from);
  }
  for (const value of [
    '',
    'eth0',
    `wirefarm-${projectId}`,
    `wirefarm-${projectId}-../x`,
    `x-wirefarm-${projectId}-all`,
    `wirefarm-${projectId}-all2`,
  ]) {
    t.equal(parseInterface(value), undefined, value);
  }
  t.end();
});

void t.test('whatever a name holds, the sentence stays one and whole', (t) => {
  const from = { projectId: randomUUID(), linkId: undefined };
  const names: [name: string, shown: string][] = [
    ['a} {value=b}', 'a) (value=b)'],
    ['one\r\ninterface {value=x}{display=y}', 'one interface (value=x)(display=y)'],
    ['tab\tnul\0line\u2028next\u0085end', 'tab nul line next end'],
    ['größer — 実験 🦆 = "q"', 'größer — 実験 🦆 = "q"'],
  ];
  for (const [name, shown] of names) {
    const sentence = interfaceSentence(from, name);
    t.match(sentence, /^interface \{.*\}$/);
    t.same(parsed(sentence), { value: `wirefarm-${from.projectId}-all`, display: shown });
  }
  t.end();
});

void t.test('every option has what Wireshark insists on', (t) => {
  t.same(parsed(extcapSentence('1.2.3', 'file:///x')), { version: '1.2.3', help: 'file:///x' });
  t.same(
    CONFIG_SENTENCES.map((sentence) => parsed(sentence)).map(({ number, call, type }) => [
      number,
      call,
      type,
    ]),
    [
      ['0', '--bpf', 'string'],
      ['1', '--snaplen', 'unsigned'],
      ['2', '--sample', 'unsigned'],
      ['3', '--cells', 'boolflag'],
    ],
  );
  for (const sentence of CONFIG_SENTENCES) t.hasProps(parsed(sentence), ['display', 'tooltip']);
  t.hasProps(parsed(DLT_SENTENCES[0] ?? ''), ['number', 'name', 'display']);
  t.end();
});
