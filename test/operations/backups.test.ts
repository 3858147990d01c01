/** Backups of a server that runs: what they have, what they refuse, and the farm that is restored from one. */
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { messageOf } from '../../src/base/errors/errors.js';
import { restoreBackup } from '../../src/operations/backup/restore.js';
import { cli } from '../support/cli.js';
import { Client, resultOf } from '../support/client.js';
import { checkCounts, CountingLab, DISK } from '../support/counting-lab.js';
import { eventually } from '../support/eventually.js';
import { end, type Json } from '../support/link-lab.js';
import { RandomBytes } from '../support/random.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

interface Listed {
  readonly backups: readonly { backup_id: string; size: number; added: number; projects: number }[];
  readonly damaged: readonly string[];
  readonly making: readonly unknown[];
}

const LABS = 3;
const IMAGE = new RandomBytes(1).next(300_000);
const server = await startServer(t, { flags: ['--keep-backups', '2', '--audit'] });
const client = new Client(server.url);
const folder = join(server.data, 'backups');
const archive = join(scratchFolder(t), 'backup.tar');

const labs: CountingLab[] = [];
for (let index = 0; index < LABS; index++)
  labs.push(await CountingLab.make({ client, url: server.url }, `lab ${index}`));
const [first] = labs as [CountingLab, ...CountingLab[]];
const snapshot = await first.lab.take('kept');
await client.expect(204, 'POST', '/v2/compute/qemu/images/a.img', IMAGE);
await client.expect(204, 'POST', '/v2/symbols/mine.svg/raw', '<svg xmlns="http://www.w3.org/2000/svg"/>');
const template = await client.expect(201, 'POST', '/v2/templates', {
  name: 'mine',
  template_type: 'ethernet_hub',
  compute_id: 'local',
});

const list = async (): Promise<Listed> => (await client.get('/v2/admin/backups')).body as Listed;
const wirefarm = (...words: readonly string[]): ReturnType<typeof cli> =>
  cli(t, ['backup', ...words, '--quiet', '--url', server.url]);

void t.test('a backup is made while all labs change', async (t) => {
  t.match(await list(), { backups: [], damaged: [], making: [], failure: null, keep: 2, verifications: [] });
  const creating = wirefarm('create');
  await Promise.all(labs.map((lab) => lab.during(creating)));
  const { code, output, errors } = await creating;
  t.match({ code, output, errors }, { code: 0, output: /^created: [0-9a-f-]{36}, / });
  const { backups } = await list();
  t.match(backups, [{ projects: LABS, crash_consistent: [] }]);
  t.ok((backups[0]?.size ?? 0) > IMAGE.length + LABS * DISK.length);
  t.match(await wirefarm('verify', 'latest'), { code: 0, output: /^whole: / });
  t.match(await wirefarm('download', 'latest', archive), { code: 0 });
  t.match(await wirefarm('download', 'latest', archive), { code: 1, errors: /is there already/ });
});

void t.test('another backup stores what is new only, and the oldest beyond the limit go', async (t) => {
  const [before] = (await list()).backups;
  for (let count = 0; count < 2; count++) t.match(await wirefarm('create'), { code: 0 });
  const { backups } = await list();
  t.equal(backups.length, 2);
  t.notOk(backups.some(({ backup_id: id }) => id === before?.backup_id));
  const [, last] = backups;
  t.ok((last?.added ?? Infinity) < DISK.length, `${last?.added ?? 0} bytes of ${last?.size ?? 0} are new`);
  t.match(await wirefarm('list'), { code: 0, output: RegExp(`${last?.backup_id ?? ''} .* 3 projects`) });
  t.match(await wirefarm('delete', backups[0]?.backup_id ?? ''), { code: 0 });
  t.match(await wirefarm('verify', 'latest'), { code: 0, output: /^whole: / });
  t.match(await client.post('/v2/admin/backups/nothing/verify'), { status: 404 });
  t.match(await client.get('/v2/admin/backups/nothing.tar'), { status: 404 });
  t.match(await client.delete('/v2/admin/backups/nothing'), { status: 404 });
});

void t.test('a backup restores to a farm in which each lab is whole and of one moment', async (t) => {
  const data = join(scratchFolder(t), 'data');
  const { code, output, errors } = await cli(t, ['restore', archive, '--data', data]);
  t.match({ code, output, errors }, { code: 0, output: /has the 3 projects of the backup/ });
  t.match(await cli(t, ['restore', archive, '--data', data]), { code: 1, errors: /is not empty/ });
  const restored = await startServer(t, { data });
  const there = new Client(restored.url);
  t.equal(((await there.get('/v2/projects')).body as Json[]).length, LABS);
  for (const { lab } of labs) await checkCounts(t, there, lab.path);
  t.ok(readFileSync(join(data, 'images/QEMU/a.img')).equals(IMAGE));
  t.equal((await there.get('/v2/symbols/mine.svg/raw')).status, 200);
  t.equal((await there.get(`/v2/templates/${String(template['template_id'])}`)).status, 200);
  t.match(await resultOf(there, 'POST', `${first.lab.at(snapshot)}/verify`), {
    damaged: [],
    is_whole: true,
  });
  await there.expect(201, 'POST', `${first.lab.at(snapshot)}/restore`);
  t.equal(await restored.stop(), 0);
});

void t.test('a backup that is cut or altered is refused with the place, and nothing is made', async (t) => {
  const parent = scratchFolder(t);
  const refused = async (damage: (path: string, size: number) => void): Promise<string> => {
    const path = join(parent, 'damaged.tar');
    writeFileSync(path, readFileSync(archive));
    damage(path, statSync(path).size);
    const reason = await restoreBackup(path, join(parent, 'data')).then(() => 'it was restored', messageOf);
    t.same(readdirSync(parent), ['damaged.tar'], 'nothing is left');
    return reason;
  };
  const bytes = readFileSync(archive);
  const flip = (at: number) => (path: string) => {
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.from([(bytes[at] ?? 0) ^ 1]), 0, 1, at);
    closeSync(file);
  };
  const cut = (part: number) => (path: string, size: number) => {
    truncateSync(path, Math.floor((size * part) / 512) * 512);
  };
  t.match(await refused(cut(0.5)), /is cut or altered, at \w/);
  t.match(await refused(cut(0)), /it has no manifest\.json/);
  t.match(await refused(flip(700)), /is altered, at manifest\.json/);
  t.match(
    await refused(flip(bytes.indexOf(IMAGE.subarray(5000, 5100)))),
    /is altered, at images\/QEMU\/a\.img/,
  );
  t.match(await refused(flip(bytes.indexOf(DISK.subarray(70_000, 70_100)))), /at the project lab \d: .*disk/);
  t.match(
    await refused((path) => {
      writeFileSync(path, 'no archive at all');
    }),
    /is no backup|is cut/,
  );
});

void t.test('damage in the folder of backups is found and named', async (t) => {
  const objects = join(folder, 'objects');
  const image =
    readdirSync(objects).find((name) => statSync(join(objects, name)).size === IMAGE.length) ?? '';
  // The image of the server may be the same file by another name.
  const damaged = Buffer.from(IMAGE);
  damaged[9] = (damaged[9] ?? 0) ^ 1;
  writeFileSync(join(objects, 'copy'), damaged);
  renameSync(join(objects, 'copy'), join(objects, image));
  t.match(await wirefarm('verify', 'latest'), {
    code: 1,
    output: 'images/QEMU/a.img: its content is another\n',
  });
  const [{ backup_id: id } = { backup_id: '' }] = (await list()).backups;
  writeFileSync(join(folder, `${id}.json`), 'nothing');
  t.match(await list(), { backups: [], damaged: [id] });
  t.match(await wirefarm('delete', id), { code: 0 });
  t.match(await list(), { backups: [], damaged: [] });
  t.same(readdirSync(join(folder, 'objects')), [], 'nothing is left of it');
  t.notOk(existsSync(join(folder, '.work')));
});

void t.test('a project that cannot be read is left out, and named by all that follows', async (t) => {
  const [, , last] = labs as [CountingLab, CountingLab, CountingLab];
  const place = join(server.data, 'projects', last.lab.lab.id);
  renameSync(place, `${place}-elsewhere`);
  const told = /without the project lab 2: .+/;
  t.match(await wirefarm('create'), { code: 0, output: /^created: /, errors: told });
  renameSync(`${place}-elsewhere`, place);
  const { backups } = await list();
  t.match(backups, [{ projects: LABS - 1, left_out: [{ name: 'lab 2', reason: /./ }] }]);
  t.match(await wirefarm('list'), { output: /without 1 projects/ });
  t.match(await wirefarm('verify', 'latest'), { code: 0 });
  const without = join(scratchFolder(t), 'without.tar');
  t.match(await wirefarm('download', 'latest', without), { code: 0 });
  const restored = join(scratchFolder(t), 'data');
  t.match(await cli(t, ['restore', without, '--data', restored]), { code: 0, output: told });
  t.equal(readdirSync(join(restored, 'projects')).length, LABS - 1);
});

void t.test('captures, the history and the audit come on request', async (t) => {
  const { lab } = first.lab;
  const link = await lab.link([end(await lab.hub(), 1), end(await lab.hub(), 1)]);
  await client.expect(201, 'POST', `${lab.at(link)}/start_capture`, { capture_file_name: 'kept' });
  await client.expect(201, 'POST', `${lab.at(link)}/stop_capture`);
  await eventually(
    'a history',
    () => existsSync(join(server.data, 'history', `${lab.id}.jsonl`)) || undefined,
  );
  t.match(await wirefarm('create', '--with', 'everything'), { code: 1, errors: /with/ });
  t.match(await wirefarm('create', '--with', 'captures,history,audit'), { code: 0 });
  const file = join(scratchFolder(t), 'all.tar');
  t.match(await wirefarm('download', 'latest', file), { code: 0 });
  const restored = join(scratchFolder(t), 'data');
  t.match(await cli(t, ['restore', file, '--data', restored]), { code: 0 });
  const captures = join('projects', lab.id, 'project-files/captures');
  const [capture = ''] = readdirSync(join(server.data, captures)).filter((name) => name.startsWith('kept'));
  t.ok(
    readFileSync(join(restored, captures, capture)).equals(
      readFileSync(join(server.data, captures, capture)),
    ),
  );
  t.ok(existsSync(join(restored, 'history', `${lab.id}.jsonl`)));
  t.match(await cli(t, ['audit', 'verify', '--data', restored]), { code: 0 });
});

void t.test('requests for backups are none too many: one backup waits at most', async (t) => {
  const asked = await Promise.all(
    Array.from({ length: 100 }, () => client.expect(202, 'POST', '/v2/admin/backups?with=history')),
  );
  await eventually('no backup is being made', async () => (await list()).making.length === 0 || undefined);
  const ids = new Set(asked.map(({ backup_id: id }) => id));
  t.ok(ids.size < 100, `${ids.size} backups`);
  const kept = (await list()).backups.map(({ backup_id: id }) => id);
  t.same(
    kept,
    [...ids].slice(-kept.length).filter((id) => kept.includes(String(id))),
    'the newest are there',
  );
});
