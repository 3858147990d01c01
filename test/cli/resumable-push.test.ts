/** The resumable protocol, with servers that are not as ours. */
import { writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import t from 'tap';
import { ProgressBar } from '../../src/cli/progress-bar.js';
import { RemoteImage } from '../../src/cli/remote-image.js';
import { ResumablePush } from '../../src/cli/resumable-push.js';
import { Retries } from '../../src/cli/retries.js';
import { Server } from '../../src/cli/server.js';
import { SourceFile } from '../../src/cli/source-file.js';
import { serving } from '../support/cli.js';
import { scratchFolder, type Teardown } from '../support/scratch.js';

const CONTENT = Buffer.from('0123456789');
type Answering = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

/** The sending of ten bytes; what is asked stands in `asked`. */
async function pushTo(
  t: Teardown,
  answer: Answering,
  left: unknown = [],
): Promise<{ push: ResumablePush; asked: string[] }> {
  const asked: string[] = [];
  const url = await serving(t, (request, response) => {
    void buffer(request).then((body) => {
      if (request.method === 'GET' && request.url === '/v2/uploads') {
        response.end(JSON.stringify(left));
        return;
      }
      asked.push(`${request.method ?? ''} ${request.url ?? ''} ${body.toString()}`.trim());
      answer(request, response, body);
    });
  });
  const path = join(scratchFolder(t), 'x.img');
  writeFileSync(path, CONTENT);
  const file = await SourceFile.open(path);
  t.teardown(() => file.close());
  const server = new Server({ url: new URL(url), authorization: undefined, ca: undefined });
  const push = new ResumablePush({
    server,
    file,
    image: new RemoteImage(server, 'qemu', 'a b.img'),
    sha256: 'f'.repeat(64),
    bar: new ProgressBar(undefined),
    retries: new Retries(0),
    signal: new AbortController().signal,
  });
  return { push, asked };
}

const decoded = (metadata: unknown): string[] =>
  String(metadata)
    .split(',')
    .map((pair) =>
      pair.replace(/ (.*)$/, (_, value: string) => `=${Buffer.from(value, 'base64').toString()}`),
    );

void t.test('the upload names the file, and the server says where it goes', async (t) => {
  let metadata: unknown;
  const { push, asked } = await pushTo(t, ({ method, headers }, response) => {
    t.equal(headers['tus-resumable'], '1.0.0');
    if (method === 'POST') {
      metadata = headers['upload-metadata'];
      response.writeHead(201, { Location: 'https://elsewhere.example/there/1?a=b' }).end();
    } else response.writeHead(204, { 'Upload-Offset': '10' }).end();
  });
  t.equal(await push.send(), 0);
  t.same(decoded(metadata), ['filename=a b.img', 'emulator=qemu', `sha256=${'f'.repeat(64)}`]);
  t.same(asked, ['POST /v2/uploads', 'PATCH /there/1?a=b 0123456789']);
});

void t.test(
  'a server that is not ready, another offset and an upload that has gone are got over',
  async (t) => {
    const patches = [503, 409, 404, 204, 204];
    let isGone = false;
    const { push, asked } = await pushTo(t, ({ method, headers }, response) => {
      if (method === 'POST') response.writeHead(201, { Location: '/u' }).end();
      else if (method === 'HEAD') {
        response.writeHead(isGone ? 404 : 200, isGone ? {} : { 'Upload-Offset': '4' }).end();
      } else {
        const status = patches.shift() ?? 0;
        isGone = status === 404;
        // The first success is of a part only.
        const offset = patches.length > 0 ? 7 : 10;
        response.writeHead(status, { 'Upload-Offset': offset, 'X-From': headers['upload-offset'] }).end();
      }
    });
    t.equal(await push.send(), 0);
    t.same(asked, [
      'POST /v2/uploads',
      'PATCH /u 0123456789',
      'HEAD /u',
      'PATCH /u 456789',
      'HEAD /u',
      'PATCH /u 456789',
      'HEAD /u',
      'POST /v2/uploads',
      'PATCH /u 0123456789',
      'HEAD /u',
      'PATCH /u 456789',
    ]);
  },
);

void t.test('an answer that was lost is no reason to send anything', async (t) => {
  const { push, asked } = await pushTo(t, ({ method }, response) => {
    if (method === 'POST') response.writeHead(201, { Location: '/u' }).end();
    else if (method === 'HEAD') response.writeHead(200, { 'Upload-Offset': '10' }).end();
    else response.destroy();
  });
  t.equal(await push.send(), 0);
  t.same(asked, ['POST /v2/uploads', 'PATCH /u 0123456789', 'HEAD /u']);
});

void t.test('it is not tried for ever', async (t) => {
  const { push, asked } = await pushTo(t, ({ method }, response) => {
    if (method === 'POST') response.writeHead(201, { Location: '/u' }).end();
    else if (method === 'HEAD') response.writeHead(200, { 'Upload-Offset': '4' }).end();
    else response.writeHead(503).end('{"message": "busy"}');
  });
  await t.rejects(push.send(), {
    message: 'gave up after 10 tries without progress (503: busy): the same command goes on from here',
  });
  // One more than ten: the first has got as far as 4.
  t.equal(asked.filter((line) => line.startsWith('PATCH')).length, 12);
});

void t.test('refusals and nonsense end it at once', async (t) => {
  const ends: [answers: Record<string, [number, Record<string, string>]>, message: RegExp][] = [
    [{ POST: [507, {}] }, /^full$/],
    [{ POST: [201, {}] }, /answered with no Location/],
    [{ POST: [201, { Location: '/u' }], PATCH: [507, {}] }, /^full$/],
    [
      { POST: [201, { Location: '/u' }], PATCH: [204, { 'Upload-Offset': '11' }] },
      /answered with no Upload-Offset/,
    ],
    [{ POST: [201, { Location: '/u' }], PATCH: [204, {}] }, /answered with no Upload-Offset/],
    [
      { POST: [201, { Location: '/u' }], PATCH: [460, {}] },
      /has another digest than .*x\.img: it was not kept/,
    ],
  ];
  for (const [answers, message] of ends) {
    const { push } = await pushTo(t, ({ method = '' }, response) => {
      const [status, headers] = answers[method] ?? [500, {}];
      response.writeHead(status, headers).end(status === 204 ? '' : '{"message": "full"}');
    });
    await t.rejects(push.send(), { message });
  }
});

void t.test('an upload of other content is not looked at twice', async (t) => {
  const mine = { protocol: 'tus', emulator: 'qemu', filename: 'a b.img', size: 10, state: 'waiting' };
  const list = [
    { ...mine, upload_id: '1', protocol: 'http' },
    { ...mine, upload_id: '2', emulator: 'iou' },
    { ...mine, upload_id: '3', filename: 'b.img' },
    { ...mine, upload_id: '4', size: 11 },
    { ...mine, upload_id: '5', state: 'finished' },
    { ...mine, upload_id: '6' },
    { ...mine, upload_id: '7' },
  ];
  const digest = { 6: 'e', 7: 'f' } as Readonly<Record<string, string>>;
  const { push, asked } = await pushTo(
    t,
    ({ method, url = '' }, response) => {
      if (method === 'PATCH') response.writeHead(204, { 'Upload-Offset': '10' }).end();
      else {
        const sha256 = Buffer.from((digest[url.at(-1) ?? ''] ?? '').repeat(64)).toString('base64');
        response
          .writeHead(200, { 'Upload-Offset': '3', 'Upload-Metadata': `a Yg==,sha256 ${sha256},c` })
          .end();
      }
    },
    list,
  );
  t.equal(await push.send(), 3);
  t.same(asked, [
    'GET /v2/uploads/6',
    'GET /v2/uploads/7',
    'HEAD /v2/uploads/7',
    'PATCH /v2/uploads/7 3456789',
  ]);
});
