import t from 'tap';
import { Refusal, refusals } from '../../src/base/errors/errors.js';
import { errorAnswer, shownStart, withoutSecrets } from '../../src/http/error-body.js';
import type { Exchange } from '../../src/http/exchange.js';
import { MalformedJson } from '../../src/http/json-body.js';

const malformed = new Refusal(400, 'malformed', 'no');

/** As much of an exchange as an error is told with. */
function exchange(body: unknown, template?: string): Exchange {
  const fields: unknown = { id: 'r1', method: 'PUT', path: '/v2/things/7', template, body };
  return fields as Exchange;
}

function bodyOf(error: unknown, body?: unknown, template?: string): unknown {
  return JSON.parse(errorAnswer(error, exchange(body, template)).json);
}

void t.test('a refusal says what and how; a 400 says of which request, too', (t) => {
  t.strictSame(bodyOf(refusals.projectUnknown('7')), {
    code: 'project_unknown',
    message: "Project ID 7 doesn't exist",
    status: 404,
  });
  t.strictSame(bodyOf(malformed, { a: 1 }, '/v2/things/{id}'), {
    code: 'malformed',
    message: 'no',
    method: 'PUT',
    path: '/v2/things/{id}',
    request: { a: 1 },
    status: 400,
  });
  t.strictSame(bodyOf(refusals.imageMissing('x.img')), {
    code: 'image_missing',
    exception: 'ImageMissingError',
    image: 'x.img',
    message: 'The image x.img is missing',
    status: 409,
  });
  t.end();
});

void t.test('a fault of ours tells nothing but where to look', (t) => {
  const answer = errorAnswer(new TypeError('/home/secret is undefined'), exchange({}));
  t.equal(answer.status, 500);
  t.ok(answer.isFault);
  t.notMatch(answer.json, /secret|TypeError|stack/);
  t.match(answer.json, /r1/);
  t.match(JSON.parse(answer.json), { code: 'internal_error', status: 500 });
  t.end();
});

void t.test('an echoed value is cut and shows no secrets, whatever its type', (t) => {
  t.match(bodyOf(malformed, { user: 'u', deep: [{ password: 'p' }] }), {
    request: { user: 'u', deep: [{ password: '***' }] },
  });
  t.notMatch(JSON.stringify(withoutSecrets({ password: { nested: 'p1' } })), /p1/);
  for (const body of ['x'.repeat(1e6), { a: 'x'.repeat(1e6) }, ['x'.repeat(1e6)]])
    t.ok(errorAnswer(malformed, exchange(body)).json.length < 8192);
  t.match(bodyOf(new MalformedJson('no', '{')), { code: 'json_malformed' });
  t.ok(JSON.stringify(bodyOf(new MalformedJson('no', '{'.repeat(1e6)))).length < 8192);
  t.strictSame((bodyOf(malformed, 5) as { request: unknown }).request, 5);
  t.end();
});

void t.test('parts of a body that lead to no secret are not copied', (t) => {
  const [large, other] = [[{ a: 1 }, { b: [2] }], { c: 3 }];
  const body = { large, list: [other, JSON.parse('{"__proto__":4,"password":"p"}') as object] };
  const shown = withoutSecrets(body) as typeof body;
  t.equal(JSON.stringify(shown), JSON.stringify(body).replace('"p"', '"***"'));
  t.equal(shown.large, large);
  t.equal(shown.list[0], other);
  t.equal(withoutSecrets(large), large, 'nor is a body without any');
  t.equal(JSON.stringify(body.list[1]), '{"__proto__":4,"password":"p"}', 'the body itself has its secrets');
  t.end();
});

void t.test('the start of a text is that of the whole text, and the rest is not walked', (t) => {
  const values = [
    null,
    1.5,
    Infinity,
    'é"\n',
    [],
    {},
    [[], {}, [1, [2]]],
    { a: { 'b"': [{}, true] }, password: [1] },
  ];
  for (const value of [...values, values])
    t.equal(shownStart(value, 1000), JSON.stringify(withoutSecrets(value)));
  for (const length of [0, 1, 5, 20, 60]) {
    const start = shownStart(values, length);
    t.ok(start.length >= length);
    t.equal(start.slice(0, length), JSON.stringify(withoutSecrets(values)).slice(0, length));
  }
  const trap = Object.defineProperty([[1], [2], [3], [4]], 3, {
    get: () => t.fail('an element behind the start was looked at'),
  });
  t.equal(shownStart(trap, 5), '[[1],[');
  t.end();
});
