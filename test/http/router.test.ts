import t from 'tap';
import { z } from 'zod';
import { Refusal } from '../../src/base/errors/errors.js';
import { empty } from '../../src/http/answer.js';
import { route, type Method, type SocketRoute } from '../../src/http/route.js';
import { placed } from '../../src/http/route-scope.js';
import { Router } from '../../src/http/router.js';

const get = (path: string, method: Method = 'GET'): ReturnType<typeof route> =>
  route({
    method,
    path,
    tag: '',
    access: 'anyone',
    summary: '',
    params: z.object({}),
    answers: {},
    handle: () => empty(204),
  });
const socket = (path: string): SocketRoute => ({
  path,
  tag: '',
  access: 'anyone',
  summary: '',
  params: z.object({}),
  check: () => undefined,
  open: () => () => undefined,
});

const router = new Router({
  routes: placed('any', [
    get('/v2/things'),
    get('/v2/things', 'POST'),
    get('/v2/things/load'),
    get('/v2/things/{id}'),
    get('/v2/things/{id}/parts/{part}'),
    get('/v2/things/all/{what}'),
    get('/v2/things/{id}/files/{path:.+}'),
    get('/v2/symbols/{symbol:.+}/raw'),
    get('/v2/symbols/{symbol:.+}/size'),
  ]),
  sockets: placed('any', [socket('/v2/things/{id}/ws')]),
});

function found(path: string): [template: string, params: Readonly<Record<string, string>>] | undefined {
  const match = router.match(path);
  return match && [match.endpoint.template, match.params];
}

function refusedWith(path: string): number {
  try {
    router.match(path);
  } catch (error) {
    if (error instanceof Refusal) return error.status;
  }
  return 200;
}

void t.test('a path leads to its template, with the methods that it has', (t) => {
  const match = router.match('/v2/things');
  t.strictSame([...(match?.endpoint.methods.keys() ?? [])], ['GET', 'POST']);
  t.strictSame(found('/v2/things/a/parts/b'), ['/v2/things/{id}/parts/{part}', { id: 'a', part: 'b' }]);
  t.end();
});

void t.test('a path of a socket is found, without methods', (t) => {
  const match = router.match('/v2/things/a/ws');
  t.equal(match?.endpoint.socket?.path, '/v2/things/{id}/ws');
  t.equal(match?.endpoint.methods.size, 0);
  t.end();
});

void t.test('a literal wins over a parameter, and a parameter takes what no literal continues', (t) => {
  t.strictSame(found('/v2/things/load'), ['/v2/things/load', {}]);
  t.strictSame(found('/v2/things/all/x'), ['/v2/things/all/{what}', { what: 'x' }]);
  t.strictSame(found('/v2/things/all/parts/x'), ['/v2/things/{id}/parts/{part}', { id: 'all', part: 'x' }]);
  t.strictSame(found('/v2/things/all'), ['/v2/things/{id}', { id: 'all' }]);
  t.end();
});

void t.test('a rest spans segments, up to the literals after it', (t) => {
  t.strictSame(found('/v2/things/a/files/b/c.txt'), [
    '/v2/things/{id}/files/{path:.+}',
    { id: 'a', path: 'b/c.txt' },
  ]);
  t.strictSame(found('/v2/symbols/:/symbols/raw/raw'), [
    '/v2/symbols/{symbol:.+}/raw',
    { symbol: ':/symbols/raw' },
  ]);
  t.strictSame(found('/v2/symbols/a/size'), ['/v2/symbols/{symbol:.+}/size', { symbol: 'a' }]);
  t.equal(found('/v2/symbols/raw'), undefined);
  t.equal(found('/v2/symbols//raw'), undefined);
  t.equal(found('/v2/things/a/files/'), undefined);
  t.end();
});

void t.test('values are decoded, once, and an encoded slash makes no segment', (t) => {
  t.strictSame(found('/v2/things/a%2Fb'), ['/v2/things/{id}', { id: 'a/b' }]);
  t.strictSame(found('/v2/things/%252e'), ['/v2/things/{id}', { id: '%2e' }]);
  t.strictSame(found('/v2/things/%C3%A9%00'), ['/v2/things/{id}', { id: 'é\0' }]);
  t.strictSame(found('/v2/things/a%2Fparts%2Fb'), ['/v2/things/{id}', { id: 'a/parts/b' }]);
  t.strictSame(found('/v2/things/__proto__'), ['/v2/things/{id}', { id: '__proto__' }]);
  t.end();
});

void t.test('a value that is no UTF-8 is refused', (t) => {
  for (const value of ['%', '%2', '%zz', '%ff', '%c0%af', '%ed%a0%80', 'a%'])
    t.equal(refusedWith(`/v2/things/${value}`), 400, value);
  t.end();
});

void t.test('literals are compared as they are written', (t) => {
  for (const path of [
    '/v2/Things',
    '/v2/%74hings',
    '/v2/things/',
    '//v2/things',
    '/v2',
    '/',
    '',
    '/v2/things/a/ws/',
  ])
    t.equal(found(path), undefined, path);
  for (const path of ['/v2/constructor', '/__proto__', '/v2/things/a/toString/b'])
    t.equal(found(path), undefined, path);
  t.end();
});

void t.test('dots are values: nothing is normalised', (t) => {
  t.strictSame(found('/v2/things/..'), ['/v2/things/{id}', { id: '..' }]);
  t.strictSame(found('/v2/things/a/files/../b'), [
    '/v2/things/{id}/files/{path:.+}',
    { id: 'a', path: '../b' },
  ]);
  t.end();
});

void t.test('a path of a thousand segments is answered like any other', (t) => {
  t.equal(found('/v2/things' + '/x'.repeat(1000)), undefined);
  t.strictSame(found('/v2/things/a/files' + '/x'.repeat(1000))?.[1]['path'], 'x/'.repeat(999) + 'x');
  t.end();
});
