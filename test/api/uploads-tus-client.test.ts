/** Resumable uploads by the client that most pages use: tus-js-client. */
import { createReadStream, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import * as tus from 'tus-js-client';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { RandomBytes } from '../support/random.js';
import { RawConnection, requestBytes } from '../support/raw-client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { image, OFFSET_STREAM, TUS, TusTalk } from '../support/tus.js';

const MEGABYTE = 1024 * 1024;
const QUIET = { WIREFARM_LOG_LEVEL: 'warn' };
const server = await startServer(t, { environment: QUIET });
const scratch = scratchFolder(t);
const content = new RandomBytes(21).next(20 * MEGABYTE + 3);
const file = join(scratch, 'source.img');
writeFileSync(file, content);

type Options = NonNullable<ConstructorParameters<typeof tus.Upload>[1]>;
type Storage = NonNullable<Options['urlStorage']>;
type Previous = Awaited<ReturnType<tus.Upload['findPreviousUploads']>>[number];

/** Keeps what a page would keep in the browser. */
class MemoryStorage implements Storage {
  readonly #kept = new Map<string, Previous & { readonly fingerprint: string }>();

  findAllUploads(): Promise<Previous[]> {
    return Promise.resolve([...this.#kept.values()]);
  }

  findUploadsByFingerprint(fingerprint: string): Promise<Previous[]> {
    return Promise.resolve([...this.#kept.values()].filter((kept) => kept.fingerprint === fingerprint));
  }

  removeUpload(key: string): Promise<void> {
    this.#kept.delete(key);
    return Promise.resolve();
  }

  addUpload(fingerprint: string, upload: Previous): Promise<string> {
    const urlStorageKey = `${fingerprint}-${this.#kept.size}`;
    this.#kept.set(urlStorageKey, { ...upload, urlStorageKey, fingerprint });
    return Promise.resolve(urlStorageKey);
  }
}

interface Sending {
  readonly upload: tus.Upload;
  readonly done: Promise<void>;
  /** The bytes of the file that were sent, at each progress. */
  readonly progress: number[];
}

function sending(options: Options, onProgress?: (upload: tus.Upload, sent: number) => void): Sending {
  const progress: number[] = [];
  // The declarations know of files of browsers only; this is what the client takes on Node.
  const source = createReadStream(file) as unknown as Buffer;
  let upload: tus.Upload | undefined;
  const done = new Promise<void>((resolve, reject) => {
    upload = new tus.Upload(source, {
      endpoint: `${server.url}/v2/uploads`,
      retryDelays: null,
      ...options,
      onSuccess: () => {
        resolve();
      },
      onError: reject,
      onProgress: (sent) => {
        progress.push(sent);
        if (upload !== undefined) onProgress?.(upload, sent);
      },
    });
  });
  if (upload === undefined) throw new Error('there is no upload');
  return { upload, done, progress };
}

const landed = (name: string, data = server.data): Buffer => readFileSync(join(data, 'images', 'QEMU', name));

void t.test('a whole upload, in every manner of the client', async (t) => {
  const manners: [string, Options][] = [
    ['at once.img', {}],
    ['in chunks.img', { chunkSize: 7 * MEGABYTE }],
    ['with creation.img', { uploadDataDuringCreation: true }],
    ['with creation, in chunks.img', { uploadDataDuringCreation: true, chunkSize: 6 * MEGABYTE }],
    ['overridden.img', { overridePatchMethod: true }],
  ];
  for (const [name, options] of manners) {
    const { upload, done } = sending({ ...options, metadata: image(name) });
    upload.start();
    await done;
    t.ok(landed(name).equals(content), name);
  }
});

void t.test('an upload that was interrupted goes on where it was', async (t) => {
  const urlStorage = new MemoryStorage();
  const options = { metadata: image('resumed.img'), urlStorage, storeFingerprintForResuming: true };
  const aborted = new Promise<void>((resolve) => {
    const { upload } = sending({ ...options, chunkSize: 4 * MEGABYTE }, (started, sent) => {
      if (sent > 9 * MEGABYTE) void started.abort().then(resolve);
    });
    upload.start();
  });
  await aborted;
  const { upload, done, progress } = sending(options);
  const [previous] = await upload.findPreviousUploads();
  if (previous === undefined) throw new Error('the client has forgotten the upload');
  upload.resumeFromPreviousUpload(previous);
  upload.start();
  await done;
  t.ok((progress[0] ?? 0) >= 8 * MEGABYTE, `it went on at ${progress[0] ?? 0}`);
  t.ok(landed('resumed.img').equals(content));
});

void t.test('an upload is given up', async (t) => {
  let given: Promise<void> | undefined;
  const { upload } = sending({ metadata: image('given up.img') }, (started, sent) => {
    if (sent > MEGABYTE) given ??= started.abort(true);
  });
  upload.start();
  await eventually('it was given up', () => given?.then(() => true));
  t.equal((await new Client(server.url).get(new URL(upload.url ?? '').pathname)).status, 404);
  t.notOk(readdirSync(join(server.data, 'uploads')).some((name) => name.endsWith('.part')));
});

void t.test('cut at 90 %, the server killed, started again, and resumed', async (t) => {
  const { data } = server;
  const cut = Math.floor(content.length * 0.9);
  const client = new Client(server.url);
  const path = await new TusTalk(client).created(content.length, image('killed.img'));
  const connection = await RawConnection.open(server.port);
  const head = requestBytes('PATCH', path, {
    headers: {
      ...TUS,
      'Upload-Offset': '0',
      'Content-Type': OFFSET_STREAM,
      'Content-Length': String(content.length),
    },
  });
  connection.write(Buffer.concat([head, content.subarray(0, cut)]));
  await eventually('90 % are there', async () =>
    ((await client.get(path)).body as { received: number }).received === cut ? true : undefined,
  );
  await server.stop('SIGKILL');
  const part = join(data, 'uploads', `${path.slice(path.lastIndexOf('/') + 1)}.part`);
  const kept = statSync(part).size;
  t.ok(kept > cut / 2 && kept <= cut, `${kept} of ${cut} bytes are on the disk`);
  t.ok(readFileSync(part).equals(content.subarray(0, kept)));

  const second = await startServer(t, { data, environment: QUIET });
  const { upload, done, progress } = sending({ uploadUrl: second.url + path });
  upload.start();
  await done;
  t.equal(progress[0], kept, 'nothing is sent again');
  t.ok(landed('killed.img', data).equals(content));

  await second.stop('SIGKILL');
  const third = await startServer(t, { data, environment: QUIET });
  const again = sending({ uploadUrl: third.url + path });
  again.upload.start();
  await again.done;
  t.same(again.progress, [content.length], 'who has missed the last answer sends nothing');
  t.ok(landed('killed.img', data).equals(content));
});
