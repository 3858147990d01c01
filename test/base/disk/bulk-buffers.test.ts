/** The memory that files are written from. */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';
import t from 'tap';
import { PAGE_LENGTH } from '../../../src/base/memory/transfer-memory.js';
import { BUFFER_LENGTH, BulkBuffers, type BulkBuffer } from '../../../src/base/disk/bulk-buffers.js';
import { scratchFolder } from '../../support/scratch.js';

const buffers = BulkBuffers.open();
const skip = buffers === undefined ? 'only Linux has such writes' : false;

const opened = (): BulkBuffers => {
  if (buffers === undefined) throw new Error('there is none');
  return buffers;
};

function takeAll(): BulkBuffer[] {
  const taken: BulkBuffer[] = [];
  for (let next = opened().take(); next !== undefined; next = opened().take()) taken.push(next);
  return taken;
}

function giveBackAll(taken: readonly BulkBuffer[]): void {
  for (const buffer of taken) opened().giveBack(buffer);
}

void t.test('each begins at a whole page, and is given out once at a time', { skip }, (t) => {
  const taken = takeAll();
  t.equal(taken.length, 8);
  const addresses = new Set(taken.map(({ bytes }) => koffi.address(bytes)));
  t.equal(addresses.size, 8);
  t.ok(taken.every(({ bytes }) => bytes.length === BUFFER_LENGTH));
  t.ok([...addresses].every((address) => address % BigInt(PAGE_LENGTH) === 0n));
  giveBackAll(taken);
  const again = takeAll();
  t.equal(again.length, 8);
  giveBackAll(again);
  t.end();
});

void t.test('one is free when nobody needs it: neither who fills it nor a write', { skip }, (t) => {
  const path = join(scratchFolder(t), 'a');
  const fd = openSync(path, 'w');
  const [first, ...others] = takeAll();
  if (first === undefined) throw new Error('there was none');
  first.bytes.fill(7);
  const told: (Error | undefined)[] = [];
  for (const from of [0, PAGE_LENGTH]) {
    opened().write(fd, first, first.bytes.subarray(from, from + PAGE_LENGTH), from, (error) =>
      told.push(error),
    );
  }
  t.equal(first.users, 3);
  t.equal(opened().take(), undefined, 'it is still being filled');
  t.same(told, [undefined, undefined]);
  t.equal(first.users, 1);
  opened().write(fd, first, first.bytes.subarray(0, PAGE_LENGTH), 2 * PAGE_LENGTH, () => undefined);
  opened().giveBack(first);
  t.equal(opened().take(), first, 'which waits for the write');
  const none = (): void => {
    t.fail('it was told twice');
  };
  t.throws(
    () => {
      opened().write(100_000, first, first.bytes.subarray(0, PAGE_LENGTH), 0, none);
    },
    { code: 'EBADF' },
  );
  t.equal(first.users, 1, 'a write that could not begin needs nothing');
  giveBackAll([first, ...others]);
  closeSync(fd);
  t.ok(readFileSync(path).equals(Buffer.alloc(3 * PAGE_LENGTH, 7)));
  t.end();
});
