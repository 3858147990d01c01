import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import {
  freeStream,
  newStream,
  stepStream,
  systemLibrary,
} from '../../../src/snapshots/archives/native-stream.js';
import { mappedMemory } from '../../support/mapped-memory.js';

const SIZE = 1024 * 1024;
const ROUNDS = 1000;

void t.test('memory is freed, also when the stream cannot begin', (t) => {
  const ended: number[] = [];
  const before = mappedMemory();
  for (let count = 0; count < ROUNDS; count++) {
    const address = newStream(SIZE, () => undefined);
    freeStream(address, (of) => ended.push(of - address));
    try {
      newStream(SIZE, () => {
        throw new Error('not today');
      });
      t.fail('it did not throw');
    } catch (error) {
      if (!(error instanceof Error) || error.message !== 'not today') throw error;
    }
  }
  t.ok(mappedMemory() - before < (ROUNDS * SIZE) / 4);
  t.same(ended, Array<number>(ROUNDS).fill(0), 'the library has ended with each before');
  t.end();
});

void t.test('a step says what is left of the input and of the room', (t) => {
  const address = newStream(SIZE, () => undefined);
  const room = Buffer.alloc(5);
  // A call that does nothing leaves both as they are.
  const idle = stepStream(address, () => 7, Buffer.from('abc'), room);
  t.equal(idle.result, 7);
  t.equal(Buffer.from(idle.rest).toString(), 'abc');
  t.equal(idle.output.length, 0);
  t.notOk(idle.isStarved);
  t.ok(stepStream(address, () => 0, Buffer.alloc(0), room).isStarved, 'no input, and room');
  t.notOk(stepStream(address, () => 0, Buffer.alloc(0), Buffer.alloc(0)).isStarved, 'maybe more would come');
  freeStream(address, () => undefined);
  t.end();
});

void t.test('a library that is missing is named with its package', (t) => {
  t.throws(
    () => systemLibrary('lzma', ['libnone.so.5', 'libnone.5.dylib'], 'libnone5'),
    refusals.libraryMissing('lzma', 'libnone', 'libnone5'),
  );
  t.end();
});
