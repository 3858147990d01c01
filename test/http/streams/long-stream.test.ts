/** Long streams end when their clients do nothing, and not when somebody sets the time of day. */
import { mock } from 'node:test';
import t from 'tap';
import type { HttpResponse } from 'uWebSockets.js';
import { IncomingBody } from '../../../src/http/streams/incoming-body.js';
import { IDLE_LIMIT_MS, join, leave, lookAtStreams } from '../../../src/http/streams/long-stream.js';
import { SizedResponse } from '../../../src/http/streams/sized-response.js';

const DAY_MS = 24 * 60 * 60 * 1000;

void t.test('a stream is kept while its client may still move, and then ended', (t) => {
  const told: string[] = [];
  const stream = {
    place: -1,
    waitingSince: 1000 as number | undefined,
    rearm: () => told.push('kept'),
    expire: () => told.push('ended'),
  };
  join(stream);
  t.teardown(() => {
    leave(stream);
  });
  lookAtStreams(1000 + IDLE_LIMIT_MS - 1);
  lookAtStreams(1000 + IDLE_LIMIT_MS);
  stream.waitingSince = undefined;
  lookAtStreams(1000 + 10 * IDLE_LIMIT_MS);
  t.same(told, ['kept', 'ended', 'kept']);
  t.end();
});

void t.test('a time of day that is set ends neither an upload nor a download', async (t) => {
  const ended: string[] = [];
  const response = {
    onData: () => response,
    onWritable: () => response,
    pause: () => response,
    resume: () => response,
    cork: (work: () => void) => {
      work();
      return response;
    },
    tryEnd: () => [false, false],
    getWriteOffset: () => 0,
    close: () => ended.push('download'),
  };
  const upload = new IncomingBody(response as unknown as HttpResponse);
  upload.give({
    onChunk: () => undefined,
    onEnd: () => undefined,
    onExpired: () => ended.push('upload'),
  });
  const download = new SizedResponse(response as unknown as HttpResponse, 100, {
    give: (_position, length, use) => {
      use(new Uint8Array(length));
      return 'given';
    },
    close: () => undefined,
  });
  t.teardown(() => {
    upload.stop();
    download.gone();
  });
  await new Promise((resolve) => setImmediate(resolve));
  t.type(download.waitingSince, 'number', 'its client takes nothing');
  const day = Date.now();
  mock.method(Date, 'now', () => day + DAY_MS);
  t.teardown(() => {
    mock.reset();
  });
  lookAtStreams(performance.now());
  t.same(ended, []);
  await new Promise((resolve) => setImmediate(resolve));
  lookAtStreams(performance.now() + IDLE_LIMIT_MS);
  t.same(ended.sort(), ['download', 'upload'], 'time that has passed does');
});

void t.test('the connection of a body that is whole is kept until it is answered', (t) => {
  let whole: ((chunk: ArrayBuffer, isLast: boolean) => void) | undefined;
  let resumed = 0;
  const response = {
    onData: (handler: typeof whole) => (whole = handler),
    pause: () => response,
    resume: () => resumed++,
  };
  const upload = new IncomingBody(response as unknown as HttpResponse);
  upload.give({
    onChunk: () => undefined,
    onEnd: () => undefined,
    onExpired: () => t.fail('nothing is waited for'),
  });
  upload.pause();
  whole?.(new ArrayBuffer(1), true);
  t.equal(resumed, 1, 'which lets the library count ten seconds');
  lookAtStreams(performance.now() + IDLE_LIMIT_MS);
  t.equal(resumed, 2, 'and again');
  upload.stop();
  lookAtStreams(performance.now() + IDLE_LIMIT_MS);
  t.equal(resumed, 2, 'not after the answer');
  t.end();
});
