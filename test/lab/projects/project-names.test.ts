/** Names of projects. */
import t from 'tap';
import { checkFileName, fileNameOf, freeName } from '../../../src/lab/projects/project-names.js';

const freeOf =
  (...taken: readonly string[]) =>
  (wanted: string): string =>
    freeName(wanted, (name) => taken.includes(name));

void t.test('a name that is taken gets a number', (t) => {
  t.equal(freeOf()('a'), 'a');
  t.equal(freeOf('a')('a'), 'a-1');
  t.equal(freeOf('a', 'a-1', 'a-2')('a'), 'a-3');
  const long = '語'.repeat(300);
  t.equal(freeOf('語'.repeat(200))(long), `${'語'.repeat(198)}-1`);
  t.end();
});

void t.test('whatever is wanted, a name can be that of a file', (t) => {
  for (const wanted of [
    '',
    ' ',
    '.',
    '..',
    '/',
    '../x',
    'a\\b',
    'a\nb',
    '\0',
    '/etc/passwd',
    '😀'.repeat(300),
  ]) {
    const name = freeOf()(wanted);
    t.doesNotThrow(() => {
      checkFileName(name);
    }, wanted);
    t.ok(Buffer.byteLength(fileNameOf(name)) <= 200 && fileNameOf(name) !== '', wanted);
  }
  t.equal(freeOf()('Ein Labor'), 'Ein Labor');
  t.throws(
    () => {
      checkFileName('a/b');
    },
    { status: 400 } as never,
  );
  t.end();
});
