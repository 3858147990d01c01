/** Text that is made while it is sent gives the thread back, however much there is of it. */
import t from 'tap';
import { SlicedText } from '../../src/http/sliced-text.js';
import { LARGEST_PIECE } from '../../src/http/streams/tail-flow.js';

/** Takes longer than a slice. */
function spin(): void {
  const end = performance.now() + 2;
  while (performance.now() < end);
}

/** Everything that the source gives, and how often it rested meanwhile. */
async function drain(source: SlicedText): Promise<{ pieces: string[]; rests: number }> {
  const pieces: string[] = [];
  let rests = 0;
  let ready: () => void = () => undefined;
  source.onReady(() => {
    ready();
  });
  for (;;) {
    const result = source.next((bytes) => pieces.push(Buffer.from(bytes).toString()));
    if (result === 'over') return { pieces, rests };
    if (result === 'given') continue;
    rests++;
    await new Promise<void>((resolve) => (ready = resolve));
  }
}

void t.test('each slice ends after a millisecond, also without any text', async (t) => {
  function* slow(): Generator<string> {
    for (const piece of ['a', '', 'b', 'c']) {
      spin();
      yield piece;
    }
  }
  const { pieces, rests } = await drain(new SlicedText(slow()));
  t.strictSame(pieces, ['a', 'b', 'c']);
  t.ok(rests >= 4, `${rests} rests`);
});

void t.test('a long text is given in pieces, and none of it is lost', async (t) => {
  const long = ['x'.repeat(LARGEST_PIECE * 2 + 1), 'ü'.repeat(LARGEST_PIECE), 'end'];
  const { pieces } = await drain(new SlicedText(long));
  for (const piece of pieces) t.ok(Buffer.byteLength(piece) <= LARGEST_PIECE);
  t.equal(Buffer.byteLength(pieces.join('')), Buffer.byteLength(long.join('')));
});

void t.test('a client that goes ends the making', (t) => {
  let isEnded = false;
  function* endless(): Generator<string> {
    try {
      for (;;) yield 'x';
    } finally {
      isEnded = true;
    }
  }
  const source = new SlicedText(endless());
  source.next(() => undefined);
  source.close();
  t.ok(isEnded);
  t.end();
});
