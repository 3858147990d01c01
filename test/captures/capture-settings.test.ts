import t from 'tap';
import {
  captureFileName,
  captureSettings,
  checkRing,
  defaultFileName,
} from '../../src/captures/capture-settings.js';

void t.test('a name is one component of a path', (t) => {
  for (const name of ['a', 'a.pcap', 'a b', '-', 'ü'.repeat(100), 'a..b', '~']) {
    t.equal(captureFileName(name, 'x'), name);
  }
  for (const name of ['/', 'a/b', '../a', '..', '.', '.a', 'a\\b', '\0', 'n'.repeat(201), 'ü'.repeat(101)]) {
    t.throws(() => captureFileName(name, 'x'), { message: /cannot be the name of a capture file/ }, name);
  }
  t.equal(captureFileName('', 'x'), 'x');
  t.equal(captureFileName(undefined, 'x'), 'x');
  t.end();
});

void t.test('a name that nobody chose says what is captured, and is a name in any case', (t) => {
  t.equal(defaultFileName(['PC 1_0-0', 'Ä/../B_1-2']), 'PC1_0-0_to_B_1-2.pcap');
  t.equal(defaultFileName(['a', 'b'], 'pcapng'), 'a_to_b.pcapng');
  const long = defaultFileName(['a'.repeat(300), 'b'.repeat(300), 'c'.repeat(300)], 'pcapng');
  t.equal(captureFileName(long, 'x'), long);
  t.end();
});

void t.test('a ring needs room for each of its files', (t) => {
  for (const settings of [{}, { files: 1 }, { files: 2, max_bytes: 131_072 }, { max_bytes: 70_000 }]) {
    checkRing(settings);
  }
  for (const settings of [{ files: 2 }, { files: 3, max_bytes: 196_607 }]) {
    t.throws(
      () => {
        checkRing(settings);
      },
      { message: /A ring of \d files needs max_bytes of at least \d+/ },
    );
  }
  t.end();
});

void t.test('everything may be left out, and nothing else is taken', (t) => {
  t.same(captureSettings.parse({}), {});
  t.notOk(captureSettings.safeParse({ colour: 'red' }).success);
  t.notOk(captureSettings.safeParse({ snaplen: 0 }).success);
  t.end();
});
