/** Escape sequences that make a terminal answer. */
import t from 'tap';
import { withoutQuestions } from '../../../src/run/consoles/terminal-questions.js';
import { RandomBytes, testSeed } from '../../support/random.js';

const filtered = (text: string): string =>
  Buffer.from(withoutQuestions(Buffer.from(text, 'latin1'))).toString('latin1');

void t.test('questions are left out', (t) => {
  const questions = [
    ...['\x1b[6n', '\x1b[5n', '\x1b[?6n', '\x1b[c', '\x1b[0c', '\x1b[>c', '\x1b[=0c', '\x1bZ', '\x05'],
    ...['\x1b[x', '\x1b[?25$p', '\x1b[4$p', '\x1b[>q', '\x1b[>0q', '\x1b[18t', '\x1b[11t', '\x1b[21t'],
    ...['\x1b[?u', '\x1b]10;?\x07', '\x1b]11;?\x1b\\', '\x1b]4;1;?\x07', '\x1b]52;c;?\x07'],
    ...['\x1bP$qm\x1b\\', '\x1bP+q544e\x1b\\'],
  ];
  for (const question of questions) {
    t.equal(filtered(question), '', JSON.stringify(question));
    t.equal(filtered(`/ # ${question}ls\r\n${question}${question}`), '/ # ls\r\n', JSON.stringify(question));
  }
  t.end();
});

void t.test('all else stays', (t) => {
  const others = [
    ...['', 'n', '[6n', '\x1b[31;1mred\x1b[0m', '\x1b[2J\x1b[H', '\x1b[?25l', '\x1b[3;4H', '\x1b[1;1;2;2$x'],
    ...['\x1b[8;24;80t', '\x1b[22;0t', '\x1b[2 q', '\x1b[!p', '\x1b[u', '\x1b]0;a title?\x07', '\x1bM'],
    ...['\x1b]8;;http://a/?b\x1b\\', '\x1bP1$r0m\x1b\\', '\x1b7\x1b8', '\x1b(0', 'a\x07\x1b'],
    ...['\x1b[', '\x1b[6', '\x1b]11;?', '\x1b]11;?\x1b', '\x1bP$qm', '\x1b[6\r\nn', '\x1b\x1b'],
  ];
  for (const other of others) t.equal(filtered(other), other, JSON.stringify(other));
  const plain = Buffer.from('nothing to see');
  t.equal(withoutQuestions(plain), plain);
  t.end();
});

void t.test('bytes of any kind', (t) => {
  const bytes = new RandomBytes(testSeed(5));
  for (let round = 0; round < 200; round++) {
    const some = bytes
      .next(2000)
      .map((byte) => (byte < 64 ? 0x1b : byte < 128 ? (byte & 0x3f) + 0x30 : byte));
    const left = withoutQuestions(some);
    let at = 0;
    for (const byte of left) at = some.indexOf(byte, at) + 1;
    if (left.length > some.length || (left.length > 0 && at === 0)) t.fail(`round ${round}`);
  }
  t.pass();
  t.end();
});
