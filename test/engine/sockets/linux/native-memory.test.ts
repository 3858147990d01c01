import t from 'tap';
import { addressOf, NativeMemory } from '../../../../src/engine/sockets/linux/native-memory.js';

void t.test('long numbers are written as the processor reads them', (t) => {
  const memory = new NativeMemory(32);
  const view = new DataView(memory.bytes.buffer);
  for (const value of [0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 47 - 1, 0x7f12_3456_789a]) {
    memory.setLong(8, value);
    t.equal(view.getBigUint64(8, true), BigInt(value));
  }
  t.equal(view.getBigUint64(0, true), 0n);
  t.equal(view.getBigUint64(16, true), 0n);
  t.end();
});

void t.test('an address counts octets, and shared memory has one, too', (t) => {
  const memory = new NativeMemory(64);
  t.equal(addressOf(memory.bytes), memory.address);
  t.equal(addressOf(memory.bytes.subarray(24)), memory.address + 24);
  const shared = new Uint8Array(new SharedArrayBuffer(64));
  t.equal(addressOf(shared.subarray(10)), addressOf(shared) + 10);
  t.end();
});
