import t from 'tap';
import { MalformedJson, parseJsonBody } from '../../src/http/json-body.js';

const parse = (text: string): unknown => parseJsonBody(Buffer.from(text));

/** The refusal of a text, as the client is told. */
function refusal(bytes: Uint8Array | string): MalformedJson {
  try {
    parseJsonBody(Buffer.from(bytes));
  } catch (error) {
    if (error instanceof MalformedJson) return error;
    throw error;
  }
  throw new Error('the text was not refused');
}

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

void t.test('JSON of any kind is read, and nothing counts as an empty object', (t) => {
  t.strictSame(parse(''), {});
  t.strictSame(parse(' {"a": [1, null, "é"]}\n'), { a: [1, null, 'é'] });
  t.equal(parse('null'), null);
  t.equal(parse('"\\ud800"'), '\ud800');
  t.end();
});

void t.test('a key named __proto__ is a key like any other', (t) => {
  const value = parse('{"__proto__": {"polluted": true}}') as object;
  t.strictSame(Object.keys(value), ['__proto__']);
  t.equal((value as { polluted?: unknown }).polluted, undefined);
  t.end();
});

void t.test('64 levels are read, and one more is refused', (t) => {
  t.ok(Array.isArray(parse(nested(64))));
  t.match(refusal(nested(65)), { status: 400, message: 'Invalid JSON nested deeper than 64 levels' });
  t.equal(refusal('{"a":'.repeat(65) + '1' + '}'.repeat(65)).status, 400);
  t.match(refusal('['.repeat(1_000_000)).message, /deeper/);
  t.end();
});

void t.test('an object of 16,384 members is read, and a wider one is refused', (t) => {
  const wide = (members: number): string =>
    JSON.stringify({
      a: [[1, 2], Object.fromEntries(Array.from({ length: members }, (_, key) => [key, ',{,']))],
    });
  t.ok(parse(wide(16_384)));
  t.match(refusal(wide(16_385)), { message: 'Invalid JSON with an object of more than 16384 members' });
  t.ok(parse(`[${'0,'.repeat(20_000)}{}]`), 'elements of a list are no members');
  t.end();
});

void t.test('so many values as would hold the thread are refused, whatever they are', (t) => {
  const list = (value: string, times: number): string => `[${`${value},`.repeat(times)}0]`;
  for (const value of ['1', '""', '[]', '{}', '{"k":1}', '['.repeat(40) + ']'.repeat(40)])
    t.match(
      refusal(list(value, 250_000)),
      { status: 400, message: 'Invalid JSON of too many values' },
      value.slice(0, 9),
    );
  t.equal((parse(list('1', 249_000)) as unknown[]).length, 249_001);
  t.equal(
    (parse(list('":,[{"', 150_000)) as unknown[]).length,
    150_001,
    'what stands in strings does not count',
  );
  t.end();
});

void t.test('a lab file with as many nodes and links as may be, and a filter on each link, is read', (t) => {
  const nodes = Array.from({ length: 5000 }, (_, n) => [`N${n}`, { kind: 'ethernet_switch', at: [n, n] }]);
  const link = { ends: ['N1 0', 'N2 0'], filters: { delay: [10, 2] } };
  const links = Array.from({ length: 10_000 }, () => link);
  t.ok(parse(JSON.stringify({ name: 'large', nodes: Object.fromEntries(nodes) as object, links })));
  t.end();
});

void t.test('brackets side by side are not deep', (t) => {
  const many = `[${Array.from({ length: 500 }, () => '[{}]').join(',')}]`;
  t.equal((parse(many) as unknown[]).length, 500);
  t.end();
});

void t.test('brackets in strings do not count, whatever is escaped around them', (t) => {
  const brackets = '[{'.repeat(100);
  for (const text of [brackets, `"${brackets}`, `\\${brackets}`, `\\"${brackets}\\`, `${brackets}"`]) {
    t.equal(parse(JSON.stringify([text])) instanceof Array, true, text.slice(0, 6));
    t.strictSame(parse(JSON.stringify({ [text]: text })), { [text]: text });
  }
  t.end();
});

void t.test('brackets after a string count again', (t) => {
  for (const text of ['a', '"', '\\', '\\"', '"\\\\', ']]]]']) {
    const deep = `[${JSON.stringify(text)},${nested(64)}]`;
    t.match(refusal(deep).message, /deeper/, text);
    t.ok(parse(`[${JSON.stringify(text)},${nested(63)}]`));
  }
  t.end();
});

void t.test('a text that is no JSON is refused, and shown as it came', (t) => {
  for (const text of ['{', '[1,]', 'NaN', "{'a':1}", '{"a":01}', '"\t"', '\ufeff[', 'undefined', '\0']) {
    const { status, message, text: shown } = refusal(text);
    t.equal(status, 400);
    t.match(message, /^Invalid JSON ./);
    t.equal(shown, text.replace('\ufeff', ''));
  }
  t.end();
});

void t.test('a text that is no UTF-8 is refused', (t) => {
  for (const bytes of [
    [0xff],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
    [0x22, 0xc0, 0xaf, 0x22],
    [0x22, 0xe2, 0x82],
  ]) {
    const { message, text } = refusal(Uint8Array.from(bytes));
    t.equal(message, 'Invalid JSON that is not UTF-8');
    t.strictSame(
      Array.from(text, (character) => character.charCodeAt(0)),
      bytes,
    );
  }
  t.end();
});
