import t from 'tap';
import { z } from 'zod';
import { describeIssues, fitted, parseOrRefuse } from '../../../src/base/errors/validation.js';

const schema = z.strictObject({ a: z.int(), b: z.array(z.object({ c: z.string() })).default([]) });

function issuesOf(value: unknown): string {
  const parsed = schema.safeParse(value);
  return parsed.success ? '' : describeIssues(parsed.error);
}

void t.test('a value that fits is given back as the schema reads it', (t) => {
  t.same(parseOrRefuse(schema, { a: 1 }, 'body'), { a: 1, b: [] });
  t.end();
});

void t.test('a value that does not fit is refused with 400, the place and the reason', (t) => {
  t.throws(() => parseOrRefuse(schema, { a: 'x' }, 'request body'), {
    name: 'Refusal',
    status: 400,
    message: /^JSON schema error in request body: a: .+/,
  });
  t.end();
});

void t.test('the place is the path of the field, none for the whole', (t) => {
  t.match(issuesOf({ a: 1, b: [{ c: '' }, { c: 5 }] }), /^b\.1\.c: /);
  t.notMatch(issuesOf(5), /^: /);
  t.match(issuesOf({ a: 1, later: 1 }), /later/);
  t.end();
});

void t.test('three issues are told, the others are counted', (t) => {
  const text = issuesOf({ a: 1, b: [5, 5, 5, 5, 5] });
  t.equal(text.split('; ').length, 4);
  t.match(text, /; and 2 more$/);
  t.notMatch(issuesOf({ a: 1, b: [5, 5, 5] }), /more/);
  t.end();
});

void t.test('a length that is no number is a reason, not a fault of the program', (t) => {
  const schema = z.object({ items: z.array(z.object({ name: z.string().min(1).max(9) })) });
  const odd = { length: { toString: 'x', valueOf: 1 } };
  t.throws(() => schema.safeParse({ items: [{ name: odd }] }), TypeError, 'the library throws');
  const { success, error } = fitted(schema, { items: [{ name: odd }] });
  t.equal(success, false);
  t.equal(error && describeIssues(error), 'items.0.name.length: Invalid input: this is no length');
  t.throws(
    () =>
      fitted(
        z.string().refine(() => {
          throw new TypeError('a mistake');
        }),
        'x',
      ),
    { message: 'a mistake' },
  );
  t.end();
});
