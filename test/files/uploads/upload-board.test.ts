/** Views, paces and notifications of uploads. The clock is the test's. */
import { mock } from 'node:test';
import t from 'tap';
import { Channel } from '../../../src/base/streams/channel.js';
import type { UploadObserver } from '../../../src/files/transfer/transfers.js';
import type { Upload } from '../../../src/files/transfer/upload.js';
import { UploadBoard, type ShownUpload } from '../../../src/files/uploads/upload-board.js';
import type { Teardown } from '../../support/scratch.js';

const MEGABYTE = 1024 * 1024;
const START = Date.UTC(2026, 0, 1);

interface Told {
  readonly action: string;
  readonly event: Record<string, unknown>;
}

interface Rig {
  readonly board: UploadBoard;
  readonly observer: UploadObserver;
  readonly told: Told[];
  readonly listen: () => () => void;
  readonly pass: () => void;
}

function rigOf(t: Teardown): Rig {
  mock.timers.enable({ apis: ['setInterval', 'Date'], now: START });
  mock.method(performance, 'now', () => Date.now() - START);
  t.teardown(() => {
    mock.reset();
  });
  const announcements = new Channel();
  const told: Told[] = [];
  const transfers: { observer: UploadObserver | undefined } = { observer: undefined };
  const board = new UploadBoard(announcements, transfers);
  const { observer } = transfers;
  if (observer === undefined) throw new Error('the board does not look');
  return {
    board,
    observer,
    told,
    listen: () => announcements.subscribe((line) => told.push(JSON.parse(line) as Told)),
    pass: () => {
      mock.timers.tick(1000);
    },
  };
}

interface Moving {
  received: number;
}

const resumable = (): Omit<ShownUpload, 'received'> & Moving => ({
  id: 'u',
  protocol: 'tus',
  subject: { project_id: 'p', node_id: 'n', path: 'a/b' },
  size: 10 * MEGABYTE,
  received: 0,
  state: 'receiving',
  startedAt: START,
  expiresAt: START + 1000,
});

const plain = (size?: number): Upload & Moving =>
  ({
    id: 'h',
    subject: { emulator: 'iou', filename: 'x.bin' },
    size,
    received: 0,
    startedAt: START,
  }) as unknown as Upload & Moving;

const actions = ({ told }: Rig): string[] => told.map(({ action }) => action);

void t.test('an upload as clients see it', (t) => {
  const { board, observer } = rigOf(t);
  t.same(board.view(resumable()), {
    project_id: 'p',
    node_id: 'n',
    path: 'a/b',
    expires_at: '2026-01-01T00:00:01.000Z',
    protocol: 'tus',
    rate: 0,
    received: 0,
    size: 10 * MEGABYTE,
    started_at: '2026-01-01T00:00:00.000Z',
    state: 'receiving',
    upload_id: 'u',
  });
  observer.began(plain());
  t.match(
    board.plain.map((upload) => board.view(upload)),
    [{ emulator: 'iou', filename: 'x.bin', protocol: 'http', size: null, expires_at: null, upload_id: 'h' }],
  );
  t.end();
});

void t.test('the rate is of the last seconds', (t) => {
  const { board, pass } = rigOf(t);
  const upload = resumable();
  upload.received = 4000;
  board.moves(upload);
  pass();
  upload.received = 5000;
  pass();
  t.equal(board.view(upload).rate, 500);
  for (let seconds = 0; seconds < 10; seconds++) {
    upload.received += 3000;
    pass();
  }
  t.equal(board.view(upload).rate, 3000, 'what was before has been forgotten');
  upload.received = 0;
  t.equal(board.view(upload).rate, 0, 'never less than nothing');
  board.rests(upload);
  t.equal(board.view(upload).rate, 0);
  t.end();
});

void t.test('progress is announced once a second, when there is any and somebody listens', (t) => {
  const rig = rigOf(t);
  const { board, pass, told } = rig;
  const upload = resumable();
  board.created(upload);
  board.moves(upload);
  upload.received = 10;
  pass();
  const stop = rig.listen();
  upload.received = 20;
  upload.received = 30;
  pass();
  pass();
  upload.received = 40;
  pass();
  stop();
  upload.received = 50;
  pass();
  rig.listen();
  board.rests(upload);
  upload.received = 60;
  pass();
  t.same(
    told.map(({ action, event }) => [action, event['received']]),
    [
      ['upload.updated', 30],
      ['upload.updated', 40],
    ],
  );
  t.end();
});

void t.test('only large plain uploads are announced', (t) => {
  for (const [what, size, most, expected] of [
    ['small', MEGABYTE - 1, MEGABYTE - 1, []],
    ['large', MEGABYTE, MEGABYTE, ['upload.created', 'upload.updated', 'upload.finished']],
    ['without a length, and small', undefined, 100, []],
    [
      'without a length, and large',
      undefined,
      MEGABYTE,
      ['upload.created', 'upload.updated', 'upload.finished'],
    ],
  ] as const) {
    const rig = rigOf(t);
    rig.listen();
    const upload = plain(size);
    rig.observer.began(upload);
    upload.received = most;
    rig.pass();
    t.equal(rig.board.plain.length, 1);
    rig.observer.ended(upload, 'landed');
    t.same(actions(rig), expected, what);
    t.same(rig.board.plain, []);
    mock.timers.reset();
  }
  t.end();
});

void t.test('a plain upload that is dropped is told to be gone', (t) => {
  const rig = rigOf(t);
  rig.listen();
  const upload = plain(MEGABYTE);
  rig.observer.began(upload);
  rig.observer.ended(upload, 'dropped');
  rig.observer.ended(upload, 'dropped');
  t.same(actions(rig), ['upload.created', 'upload.deleted']);
  t.end();
});

void t.test('the transfers of resumable uploads are not plain uploads', (t) => {
  const rig = rigOf(t);
  rig.listen();
  const upload = plain(MEGABYTE);
  rig.board.claim(upload.subject);
  rig.observer.began(upload);
  rig.observer.ended(upload, 'landed');
  t.same([rig.board.plain, rig.told], [[], []]);
  t.end();
});
