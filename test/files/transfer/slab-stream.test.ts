/** A stream on the HTTP thread's side, with a loop that does what the test says. */
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { PAGE_LENGTH, SLAB_LENGTH, SLABS } from '../../../src/base/memory/transfer-memory.js';
import { SlabStream } from '../../../src/files/transfer/slab-stream.js';
import { Slabs } from '../../../src/files/transfer/slabs.js';
import type { StreamEnd, TransferThread } from '../../../src/files/transfer/transfer-thread.js';
import { CountingThrottle } from '../../support/live-transfers.js';
import { Random, RandomBytes } from '../../support/random.js';

const WRITTEN = { content: { size: 1, digests: {} }, unchanged: undefined };

/** A loop that keeps its orders: each waits for its answer. */
class PaperLoop implements Pick<TransferThread, 'openStream' | 'closeStream' | 'ask' | 'push' | 'gotOn'> {
  readonly pushed: { readonly slab: number; readonly bytes: Buffer }[] = [];
  readonly asked: { readonly task: string; answer(value: unknown): void; refuse(error: Error): void }[] = [];
  readonly closed: number[] = [];
  end: StreamEnd | undefined;
  name: number | undefined = 5;
  gotOnTimes = 0;

  constructor(readonly slabs: Slabs) {}

  openStream(end: StreamEnd): number | undefined {
    this.end = end;
    return this.name;
  }

  gotOn(): void {
    this.gotOnTimes++;
  }

  closeStream(name: number): void {
    this.closed.push(name);
  }

  push(name: number, slab: number, length: number): void {
    if (name !== this.name) throw new Error('another stream');
    this.pushed.push({ slab, bytes: Buffer.from(this.slabs.view(slab, 0, length)) });
  }

  ask(task: string): Promise<unknown> {
    return new Promise((answer, refuse) => this.asked.push({ task, answer, refuse }));
  }

  /** The oldest slab that is not done. */
  done(): void {
    const { slab } = this.pushed[this.#done++] ?? { slab: -1 };
    this.end?.slabDone(slab);
  }
  #done = 0;

  get isDone(): boolean {
    return this.#done >= this.pushed.length;
  }

  get lengths(): number[] {
    return this.pushed.map(({ bytes }) => bytes.length);
  }

  get content(): Buffer {
    return Buffer.concat(this.pushed.map(({ bytes }) => bytes));
  }
}

function begin(share = 4): { slabs: Slabs; loop: PaperLoop; throttle: CountingThrottle; stream: SlabStream } {
  const slabs = new Slabs();
  const loop = new PaperLoop(slabs);
  const throttle = new CountingThrottle();
  const parts = { loop: loop as unknown as TransferThread, slabs, throttle, client: '', share: () => share };
  const stream = new SlabStream(parts);
  return { slabs, loop, throttle, stream };
}

void t.test('a fast stream travels in whole slabs, and arrives as it was sent', async (t) => {
  const { slabs, loop, stream } = begin(100);
  const bytes = new RandomBytes(1).next(3 * SLAB_LENGTH);
  for (let start = 0; start < bytes.length; start += 60_001)
    stream.write(bytes.subarray(start, start + 60_001));
  t.equal(stream.received, bytes.length);
  const written = stream.written();
  const first = 60_001 - (60_001 % PAGE_LENGTH);
  t.same(loop.lengths, [first, SLAB_LENGTH, SLAB_LENGTH, SLAB_LENGTH - first], 'only the first one at once');
  t.ok(loop.content.equals(bytes));
  t.same(loop.asked, [], 'much is waited for first');
  for (let count = 0; count < 4; count++) loop.done();
  await new Promise((resolve) => setImmediate(resolve));
  t.match(loop.asked, [{ task: 'finish' }]);
  loop.asked[0]?.answer(WRITTEN);
  t.same(await written, WRITTEN);
  t.equal(slabs.taken, 0);
  t.same(loop.closed, [5]);
});

void t.test('a slow stream holds no slab between its bytes, and is never held back', (t) => {
  const { slabs, loop, throttle, stream } = begin(2);
  for (let count = 0; count < 10; count++) {
    stream.write(Buffer.alloc(PAGE_LENGTH + 10, count));
    t.equal(slabs.taken, 1);
    loop.done();
    t.equal(slabs.taken, 0, 'what fills no page is kept without one');
  }
  t.same(loop.lengths, Array(10).fill(PAGE_LENGTH));
  t.equal(throttle.pauses, 0);
  void stream.stop();
  t.equal(loop.lengths.at(-1), 100, 'until the end');
  const expected = Array.from({ length: 10 }, (_, count) => Buffer.alloc(PAGE_LENGTH + 10, count));
  t.ok(loop.content.equals(Buffer.concat(expected)));
  t.end();
});

void t.test('all slabs but the last are whole pages, whatever comes when', async (t) => {
  const random = new Random(3);
  for (let run = 0; run < 30; run++) {
    const { slabs, loop, stream } = begin(100);
    const bytes = new RandomBytes(run).next(random.below(5 * SLAB_LENGTH));
    const most = random.pick([1000, PAGE_LENGTH, 3 * PAGE_LENGTH, 2 * SLAB_LENGTH]);
    for (let start = 0; start < bytes.length;) {
      const end = Math.min(bytes.length, start + 1 + random.below(most));
      stream.write(bytes.subarray(start, end));
      if (random.chance(0.5) && !loop.isDone) loop.done();
      start = end;
    }
    const over = random.chance(0.5) ? stream.stop() : stream.written();
    t.ok(loop.content.equals(bytes), `run ${run}`);
    t.same(
      loop.lengths.slice(0, -1).filter((length) => length === 0 || length % PAGE_LENGTH !== 0),
      [],
    );
    while (!loop.isDone) loop.done();
    await new Promise((resolve) => setImmediate(resolve));
    loop.asked[0]?.answer(WRITTEN);
    await over;
    t.equal(slabs.taken, 0);
  }
});

void t.test('bytes that come while the loop is busy go when it is not', (t) => {
  const { slabs, loop, stream } = begin();
  const letters = ['a', 'b', 'c'];
  for (const letter of letters) stream.write(Buffer.alloc(PAGE_LENGTH, letter));
  t.same(loop.lengths, [PAGE_LENGTH]);
  loop.done();
  t.same(loop.lengths, [PAGE_LENGTH, 2 * PAGE_LENGTH]);
  loop.done();
  const expected = Buffer.concat(letters.map((letter) => Buffer.alloc(PAGE_LENGTH, letter)));
  t.ok(loop.content.equals(expected));
  t.equal(slabs.taken, 0);
  t.end();
});

void t.test('the client waits while its share is taken, and goes on at half of it', (t) => {
  const { loop, throttle, stream } = begin(4);
  const slab = new Uint8Array(SLAB_LENGTH);
  for (let count = 0; count < 3; count++) stream.write(slab);
  t.equal(throttle.pauses, 0);
  stream.write(slab);
  t.equal(throttle.pauses, 1);
  stream.write(slab);
  stream.write(slab);
  t.equal(throttle.pauses, 1, 'what was on its way comes in all the same, and pauses it once');
  for (let count = 0; count < 3; count++) loop.done();
  t.equal(throttle.resumes, 0, 'three of four are taken');
  loop.done();
  t.equal(throttle.resumes, 1);
  t.end();
});

void t.test('a share of one slab lets the client go on when it is done', (t) => {
  const { loop, throttle, stream } = begin(1);
  stream.write(new Uint8Array(PAGE_LENGTH));
  t.equal(throttle.pauses, 1);
  loop.done();
  t.equal(throttle.resumes, 1);
  stream.write(new Uint8Array(PAGE_LENGTH));
  stream.write(new Uint8Array(PAGE_LENGTH));
  t.equal(throttle.pauses, 2);
  loop.done();
  t.equal(throttle.resumes, 1, 'what came meanwhile is on its way now');
  loop.done();
  t.equal(throttle.resumes, 2);
  t.end();
});

void t.test('when there are no slabs the stream is refused, and takes nothing more', async (t) => {
  const { slabs, loop, stream } = begin();
  for (let count = 0; count < SLABS - 1; count++) slabs.take();
  stream.write(new Uint8Array(SLAB_LENGTH));
  const failed = t.rejects(stream.failure, refusals.tooBusy());
  stream.write(Buffer.from('no room'));
  await failed;
  const { received } = stream;
  stream.write(Buffer.from('more'));
  t.equal(stream.received, received);
  const stopped = stream.stop();
  loop.done();
  loop.asked[0]?.answer(undefined);
  await stopped;
  t.equal(slabs.taken, SLABS - 1);
  t.same(loop.lengths, [SLAB_LENGTH]);
});

void t.test('more streams than a loop can name are refused', (t) => {
  const slabs = new Slabs();
  const loop = new PaperLoop(slabs);
  loop.name = undefined;
  const parts = {
    loop: loop as unknown as TransferThread,
    slabs,
    throttle: new CountingThrottle(),
    client: '',
    share: () => 1,
  };
  t.throws(() => new SlabStream(parts), refusals.tooBusy());
  t.end();
});

void t.test('a stream that is lost gives everything back at once', async (t) => {
  const { slabs, loop, stream } = begin();
  stream.write(new Uint8Array(2 * SLAB_LENGTH));
  stream.write(new Uint8Array(5));
  t.equal(slabs.taken, 3);
  t.notOk(stream.isLost);
  const failed = t.rejects(stream.failure, /lost/);
  const written = t.rejects(stream.written(), /lost/, 'whoever waits is told');
  stream.lost(new Error('lost'));
  await Promise.all([failed, written]);
  t.equal(slabs.taken, 0);
  t.ok(stream.isLost);
  loop.done();
  t.equal(slabs.taken, 0, 'once');
  const stopped = stream.stop();
  loop.asked[0]?.refuse(new Error('there is no such upload'));
  await stopped;
  t.same(loop.closed, [5]);
});

void t.test('the first reason is the one that is told', async (t) => {
  const { loop, stream } = begin();
  stream.write(Buffer.from('x'));
  const written = stream.written();
  stream.failed(new Error('the disk is full'));
  stream.failed(new Error('another'));
  loop.asked[0]?.refuse(new Error('there is no such upload'));
  await t.rejects(written, /disk is full/);
  await t.rejects(stream.failure, /disk is full/);
});

void t.test('stopping waits for what the loop still does, and is done once', async (t) => {
  const { slabs, loop, stream } = begin();
  stream.write(Buffer.from('x'));
  stream.write(Buffer.from('y'));
  const stopped = stream.stop();
  t.equal(loop.content.toString(), 'xy', 'all that came goes on its way');
  t.match(loop.asked, [{ task: 'drop' }]);
  t.equal(slabs.taken, 1);
  loop.done();
  loop.asked[0]?.answer(undefined);
  await stopped;
  await stream.stop();
  t.equal(loop.asked.length, 1);
  t.same(loop.closed, [5]);
  stream.write(Buffer.from('late'));
  t.equal(slabs.taken, 0);
  t.equal(loop.pushed.length, 1);
});

void t.test('the rest of a page that finds no slab at the end is told', async (t) => {
  const { slabs, loop, stream } = begin();
  stream.write(Buffer.from('rest'));
  t.equal(slabs.taken, 0);
  while (slabs.take() !== undefined) continue;
  await t.rejects(stream.written(), refusals.tooBusy());
  await t.rejects(stream.failure, refusals.tooBusy());
  const stopped = stream.stop();
  loop.asked[0]?.answer(undefined);
  await stopped;
  t.same(loop.pushed, []);
  t.equal(slabs.taken, SLABS);
});

void t.test('the next loop gets nothing of a lost stream', async (t) => {
  const { slabs, loop, stream } = begin();
  stream.write(new Uint8Array(2 * PAGE_LENGTH + 7));
  loop.done();
  stream.lost(new Error('lost'));
  const stopped = stream.stop();
  t.same(loop.lengths, [2 * PAGE_LENGTH]);
  loop.asked[0]?.answer(undefined);
  await stopped;
  t.equal(slabs.taken, 0);
});

void t.test('a stream of nothing is finished without a slab', async (t) => {
  const { slabs, loop, stream } = begin();
  stream.write(new Uint8Array(0));
  const written = stream.written();
  loop.asked[0]?.answer(WRITTEN);
  await written;
  t.same(loop.pushed, []);
  t.equal(slabs.taken, 0);
});

function beginDigested(share = 4) {
  const slabs = new Slabs();
  const [loop, second] = [new PaperLoop(slabs), new PaperLoop(slabs)];
  const throttle = new CountingThrottle();
  const beside = { loop: second as unknown as TransferThread, digests: ['md5'] as const };
  const parts = { loop: loop as unknown as TransferThread, slabs, throttle, client: '', share: () => share };
  return { slabs, loop, second, throttle, stream: new SlabStream({ ...parts, beside }) };
}

void t.test('a slab that a second loop digests is held until both are done with it', async (t) => {
  const { slabs, loop, second, throttle, stream } = beginDigested(2);
  const bytes = new RandomBytes(2).next(2 * SLAB_LENGTH);
  stream.write(bytes.subarray(0, SLAB_LENGTH));
  stream.write(bytes.subarray(SLAB_LENGTH));
  loop.done();
  loop.done();
  t.same([slabs.taken, throttle.pauses, throttle.resumes], [2, 1, 0], 'the client waits for the slower loop');
  const written = stream.written();
  second.done();
  t.same([slabs.taken, throttle.resumes], [1, 1]);
  second.done();
  t.equal(slabs.taken, 0);
  t.ok(second.content.equals(bytes));
  await new Promise((resolve) => setImmediate(resolve));
  loop.asked[0]?.answer({
    content: { size: bytes.length, digests: { 'sha-256': '1' } },
    unchanged: undefined,
  });
  second.asked[1]?.answer({ content: { size: bytes.length, digests: { md5: '2' } }, unchanged: undefined });
  t.match(await written, { content: { size: bytes.length, digests: { 'sha-256': '1', md5: '2' } } });
  t.same([loop.closed, second.closed], [[5], [5]]);
});

void t.test(
  'a stream fails with its second loop, and keeps the slabs that the first one writes',
  async (t) => {
    const { slabs, loop, second, stream } = beginDigested();
    stream.write(new Uint8Array(SLAB_LENGTH));
    second.end?.lost(refusals.uploadLost('it died'));
    await t.rejects(stream.failure, refusals.uploadLost('it died'));
    t.equal(slabs.taken, 1);
    loop.done();
    t.equal(slabs.taken, 0);
    const stopped = stream.stop();
    for (const { asked } of [loop, second]) asked.at(-1)?.refuse(new Error('it died'));
    await stopped;
    t.same([loop.closed, second.closed], [[5], [5]]);
  },
);

void t.test('a stream that its second loop cannot name is refused, and leaves the first', (t) => {
  const slabs = new Slabs();
  const [loop, second] = [new PaperLoop(slabs), new PaperLoop(slabs)];
  second.name = undefined;
  const throttle = new CountingThrottle();
  const beside = { loop: second as unknown as TransferThread, digests: ['md5'] as const };
  const parts = { loop: loop as unknown as TransferThread, slabs, throttle, client: '', share: () => 4 };
  t.throws(() => new SlabStream({ ...parts, beside }), refusals.tooBusy());
  t.same(loop.closed, [5]);
  t.end();
});
