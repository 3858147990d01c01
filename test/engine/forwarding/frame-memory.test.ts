import t from 'tap';
import { FrameMemory } from '../../../src/engine/forwarding/frame-memory.js';

void t.test('frames that are taken lie in the workspace, one behind the other', (t) => {
  const memory = new FrameMemory(new Uint8Array(100), 60);
  t.same([memory.take(10), memory.take(1), memory.take(20)], [60, 70, 71]);
  t.end();
});

void t.test('a frame without room is refused, and takes none', (t) => {
  const memory = new FrameMemory(new Uint8Array(100), 60);
  t.equal(memory.take(41), -1);
  t.equal(memory.take(30), 60);
  t.equal(memory.take(11), -1);
  t.equal(memory.take(10), 90, 'the last octet can be used');
  t.equal(memory.take(1), -1);
  t.end();
});

void t.test('at the end of a turn the whole workspace is free again', (t) => {
  const memory = new FrameMemory(new Uint8Array(100), 60);
  memory.take(40);
  memory.endTurn();
  t.equal(memory.take(40), 60);
  t.end();
});

void t.test('without a workspace nothing can be taken', (t) => {
  const memory = new FrameMemory(new Uint8Array(100), 100);
  t.equal(memory.take(1), -1);
  t.end();
});
