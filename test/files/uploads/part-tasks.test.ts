import { partPath } from '../../../src/files/uploads/upload-request.js';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { partLoading, partTasks as tasks } from '../../../src/files/uploads/part-tasks.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import { recordOf } from '../../support/upload-rig.js';

const wanted = (): Int32Array<SharedArrayBuffer> => new Int32Array(new SharedArrayBuffer(4));

void t.test('an upload is a part and its record, and outlives the process', (t) => {
  const folder = join(scratchFolder(t), 'uploads');
  const record = recordOf(1000);
  const place = { folder, id: record.upload_id };
  tasks.createPart({ folder, record });
  t.same(readdirSync(folder).sort(), [`${place.id}.json`, `${place.id}.part`]);
  t.equal(tasks.measurePart(place), 0);
  writeFileSync(partPath(place), 'abcdef');
  utimesSync(partPath(place), 1000, 1000);
  t.same(partLoading.loadParts({ folder }), [{ record, part: { size: 6, modifiedMs: 1_000_000 } }]);
  tasks.truncatePart({ ...place, length: 2 });
  t.equal(tasks.measurePart(place), 2);

  const finished = { ...record, finished_at: 5 };
  tasks.writeRecord({ folder, record: finished });
  t.match(partLoading.loadParts({ folder }), [{ record: finished }]);
  tasks.removeUpload(place);
  t.same(readdirSync(folder), []);
  t.equal(tasks.measurePart(place), undefined);
  tasks.removeUpload(place);
  t.end();
});

void t.test('a part that is missing is told of, and what a crash has left is removed', (t) => {
  const folder = scratchFolder(t);
  const record = recordOf(1);
  const torn = recordOf(1);
  tasks.createPart({ folder, record });
  writeFileSync(join(folder, `${torn.upload_id}.part`), 'x');
  writeFileSync(join(folder, `${torn.upload_id}.json`), JSON.stringify(torn).slice(0, 40));
  writeFileSync(join(folder, `${recordOf(1).upload_id}.part`), 'x');
  writeFileSync(join(folder, `${recordOf(1).upload_id}.tmp`), 'x');
  writeFileSync(join(folder, `${recordOf(1).upload_id}.json`), JSON.stringify(torn));
  writeFileSync(join(folder, 'huge.json'), JSON.stringify('x'.repeat(100_000)));
  writeFileSync(join(folder, 'notes'), 'of somebody');
  mkdirSync(join(folder, 'folder.part'));
  t.match(partLoading.loadParts({ folder }), [{ record, part: { size: 0 } }]);
  t.same(readdirSync(folder).sort(), [
    ...[`${record.upload_id}.json`, `${record.upload_id}.part`, 'folder.part', 'notes'].sort(),
  ]);

  t.ok(statSync(partPath({ folder, id: record.upload_id })).isFile());
  writeFileSync(join(folder, `${torn.upload_id}.json`), JSON.stringify(torn));
  t.match(
    partLoading.loadParts({ folder }).find((found) => found.record.upload_id === torn.upload_id),
    { record: torn, part: undefined },
  );
  t.end();
});

void t.test('an upload without room leaves nothing', (t) => {
  const folder = scratchFolder(t);
  t.throws(
    () => {
      tasks.createPart({ folder, record: recordOf(Number.MAX_SAFE_INTEGER) });
    },
    {
      status: 507,
      message: /./,
    },
  );
  t.same(readdirSync(folder), []);
  t.end();
});

void t.test('a part is digested as a whole, unless nobody wants it any more', (t) => {
  const folder = scratchFolder(t);
  const record = recordOf(1);
  const place = { folder, id: record.upload_id };
  tasks.createPart({ folder, record });
  const content = new RandomBytes(1).next(3 * 1024 * 1024 + 5);
  writeFileSync(partPath(place), content);
  const digests = ['md5', 'sha', 'sha-256', 'sha-512'] as const;
  const hash = (name: string): string => createHash(name).update(content).digest('hex');
  t.same(tasks.digestPart({ ...place, digests, cancelled: wanted() }), {
    md5: hash('md5'),
    sha: hash('sha1'),
    'sha-256': hash('sha256'),
    'sha-512': hash('sha512'),
  });
  const cancelled = wanted();
  Atomics.store(cancelled, 0, 1);
  t.equal(tasks.digestPart({ ...place, digests, cancelled }), undefined);
  t.ok(existsSync(partPath(place)));
  t.end();
});
