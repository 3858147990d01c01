import t from 'tap';
import { isBelow } from '../../../src/base/disk/path-order.js';

void t.test('below is strict, and a matter of whole names', (t) => {
  t.ok(isBelow('/a', '/a/b'));
  t.ok(isBelow('/a/', '/a/b'));
  t.ok(isBelow('/', '/a'));
  for (const [folder, path] of [
    ['/a', '/a'],
    ['/a', '/ab'],
    ['/a/b', '/a'],
    ['/', '/'],
    ['/a/', '/a/'],
  ] as const) {
    t.notOk(isBelow(folder, path), `${path} is not below ${folder}`);
  }
  t.end();
});
