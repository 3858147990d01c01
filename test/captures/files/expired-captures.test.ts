import t from 'tap';
import { expired, type RetainedFile } from '../../../src/captures/files/capture-library.js';

const NOW = 1_000_000;

function file(name: string, ageMs: number, size: number, isRunning = false): RetainedFile {
  return { name, size, modifiedMs: NOW - ageMs, isRunning };
}

const FILES = [
  file('new', 10, 100),
  file('old', 5000, 200),
  file('running', 9000, 400, true),
  file('oldest', 6000, 800),
];
const names = (limits: Parameters<typeof expired>[1]): string[] =>
  expired(FILES, limits, NOW).map(({ name }) => name);

void t.test('without a limit everything stays', (t) => {
  t.same(names({}), []);
  t.same(names({ olderThanMs: undefined, keepBytes: undefined }), []);
  t.end();
});

void t.test('older files go, files of the same age stay', (t) => {
  t.same(names({ olderThanMs: 5000 }), ['oldest']);
  t.same(names({ olderThanMs: 4999 }), ['oldest', 'old']);
  t.same(names({ olderThanMs: 0 }), ['oldest', 'old', 'new']);
  t.end();
});

void t.test('the oldest go until the rest is small enough; running ones count and stay', (t) => {
  t.same(names({ keepBytes: 1500 }), []);
  t.same(names({ keepBytes: 1499 }), ['oldest']);
  t.same(names({ keepBytes: 700 }), ['oldest']);
  t.same(names({ keepBytes: 699 }), ['oldest', 'old']);
  t.same(names({ keepBytes: 0 }), ['oldest', 'old', 'new']);
  t.end();
});

void t.test('files that go for their age make room', (t) => {
  t.same(names({ olderThanMs: 5500, keepBytes: 700 }), ['oldest']);
  t.same(names({ olderThanMs: 5500, keepBytes: 600 }), ['oldest', 'old']);
  t.end();
});

void t.test('the first by name of two files of the same age goes first', (t) => {
  const files = [file('b', 1, 10), file('a', 1, 10)];
  t.same(
    expired(files, { keepBytes: 10 }, NOW).map(({ name }) => name),
    ['a'],
  );
  t.end();
});
