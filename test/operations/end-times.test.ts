/** End times: labs are warned of their end, saved, stopped and closed, and nothing of them is deleted. */
import t, { type Test } from 'tap';
import { pino } from 'pino';
import { ProjectUses } from '../../src/lab/projects/project-uses.js';
import { EndTimes } from '../../src/operations/end-times/end-times.js';
import type { EndRules } from '../../src/operations/end-times/end-rules.js';
import { EndWatch } from '../../src/operations/end-times/end-watch.js';
import { addUser, basic, firstAdmin } from '../support/accounts.js';
import { cli } from '../support/cli.js';
import type { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { FakeStore } from '../support/fake-store.js';
import { programsOf } from '../support/node-lab.js';
import { startServer } from '../support/server-process.js';
import { missingVpcs } from '../support/vpcs.js';
import { WebSocket } from 'ws';
import { once } from 'node:events';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const ID = 'lab';

const server = await startServer(t, { flags: ['--idle-time', 'user=2h/8h', '--end-time', 'user=8h/1d'] });
const admin = await firstAdmin(server);
const { client: ann } = await addUser(admin, server, 'ann', 'user');
const made = await ann.expect(201, 'POST', '/v2/projects', { name: 'mine', auto_close: false });
const path = `/v2/projects/${String(made['project_id'])}`;
const environment = { WIREFARM_URL: server.url, WIREFARM_USER: 'ann', WIREFARM_PASSWORD: 'correct horse' };

/** A lab and a watch whose clocks are the test's. */
class Rig {
  readonly store: FakeStore;
  /** The clock on the wall, and the one that nobody sets. */
  wall = Date.parse('2026-11-26T09:00:00Z');
  clock = 0;
  readonly told: string[] = [];
  readonly done: string[] = [];
  readonly intake = { isOpen: true };
  jobs = 0;
  isOpen = true;
  readonly ends: EndTimes;
  readonly uses: ProjectUses;
  readonly watch: EndWatch<never>;
  #onSnapshot: () => Promise<void> = () => Promise.resolve();

  constructor(rules: EndRules = { lasts: {}, idle: {} }, store = new FakeStore()) {
    this.store = store;
    const now = (): number => this.wall;
    const clock = (): number => this.clock;
    this.ends = new EndTimes({ store, now, rules: () => rules, rolesOf: () => ['user'] });
    this.uses = new ProjectUses({ store, now, clock, isProject: () => true });
    const lab = {
      id: ID,
      name: 'routing',
      isOpen: () => this.isOpen,
      warn: (message: string) => this.told.push(message),
      topology: { nodes: new Map(), run: { putAway: () => this.#did('saved and stopped') } },
      close: () => {
        this.isOpen = false;
        return this.#did('closed');
      },
    };
    Object.defineProperty(lab, 'isOpen', { get: () => this.isOpen });
    this.watch = new EndWatch<never>({
      ...{ now, clock, ends: this.ends, uses: this.uses, intake: this.intake },
      projects: { all: new Map([[ID, lab as never]]) },
      jobs: { of: () => Array.from({ length: this.jobs }) as never },
      snapshots: {
        create: async (_, name) => {
          await this.#onSnapshot();
          await this.#did(`snapshot ${name}`);
        },
      },
      remember: (_, { kind }) => this.done.push(kind),
      log: pino({ level: 'silent' }),
    });
  }

  onSnapshot(work: () => Promise<void>): void {
    this.#onSnapshot = work;
  }

  /** Both clocks go on, and the watch looks. */
  async after(milliseconds: number): Promise<void> {
    this.wall += milliseconds;
    this.clock += milliseconds;
    await this.looked();
  }

  async looked(): Promise<void> {
    await this.watch.look();
    // Waits for the ends that have begun.
    await this.watch.close();
  }

  /** The events since the last call. */
  happened(): string[] {
    return this.done.splice(0);
  }

  #did(what: string): Promise<void> {
    this.done.push(what);
    return Promise.resolve();
  }
}

const ENDED = ['saved and stopped', 'closed', 'lab_ended'];

void t.test('a lab is warned an hour before its end', async (t) => {
  const rig = new Rig();
  await rig.ends.set(ID, { endsAt: rig.wall + 3 * HOUR }, undefined);
  await rig.after(119 * MINUTE);
  t.strictSame(rig.happened(), []);
  await rig.after(MINUTE);
  t.strictSame(rig.happened(), ['lab_end_near']);
  t.match(rig.told, [/^The lab ends in 60 minutes, unless it gets another end/]);
  await rig.after(59 * MINUTE);
  t.strictSame(rig.happened(), [], 'one warning');
  await rig.after(MINUTE);
  t.strictSame(rig.happened(), ENDED);
  await rig.looked();
  t.equal(rig.ends.of(ID).endsAt, undefined, 'it can be opened again');
});

void t.test('a clock that is put forward ends nothing without its hour', async (t) => {
  const rig = new Rig();
  await rig.ends.set(ID, { endsAt: rig.wall + 2 * DAY }, undefined);
  await rig.after(MINUTE);
  rig.wall += 365 * DAY;
  await rig.looked();
  t.strictSame(rig.happened(), ['lab_end_near']);
  await rig.after(59 * MINUTE);
  t.strictSame(rig.happened(), []);
  rig.wall -= 365 * DAY;
  await rig.after(MINUTE);
  t.strictSame(rig.happened(), [], 'the clock is right again');
  rig.wall += 365 * DAY;
  await rig.looked();
  t.strictSame(rig.happened(), ['lab_end_near'], 'and is warned anew');
  await rig.after(HOUR);
  t.strictSame(rig.happened(), ENDED);
});

void t.test('another end takes back the warning, and one near lasts as long as was asked', async (t) => {
  const rig = new Rig();
  await rig.ends.set(ID, { endsAt: rig.wall + HOUR }, undefined);
  await rig.looked();
  t.strictSame(rig.happened(), ['lab_end_near']);
  await rig.ends.set(ID, { endsAt: rig.wall + 4 * HOUR }, undefined);
  await rig.after(2 * HOUR);
  t.strictSame(rig.happened(), []);
  t.notOk(rig.watch.isWarned(ID));
  await rig.ends.set(ID, { endsAt: rig.wall + 10 * MINUTE }, undefined);
  await rig.looked();
  t.strictSame(rig.happened(), ['lab_end_near']);
  await rig.after(9 * MINUTE);
  t.strictSame(rig.happened(), []);
  await rig.after(MINUTE);
  t.strictSame(rig.happened(), ENDED);
  await t.rejects(rig.ends.set(ID, { endsAt: rig.wall }, undefined), { code: 'end_passed' });
});

void t.test('nothing ends while the server drains, nor while a job of the lab runs', async (t) => {
  const rig = new Rig();
  await rig.ends.set(ID, { endsAt: rig.wall + HOUR }, undefined);
  await rig.looked();
  rig.happened();
  rig.intake.isOpen = false;
  await rig.after(2 * HOUR);
  t.strictSame(rig.happened(), []);
  rig.intake.isOpen = true;
  rig.jobs = 1;
  await rig.looked();
  t.strictSame(rig.happened(), []);
  rig.jobs = 0;
  await rig.looked();
  t.strictSame(rig.happened(), ENDED);
});

void t.test('a lab ends when nobody uses it, whatever the clock on the wall says', async (t) => {
  const rig = new Rig();
  await rig.ends.set(ID, { idleAfter: 2 * 3600 }, undefined);
  rig.uses.note(ID);
  await rig.after(HOUR - MINUTE);
  rig.wall += 365 * DAY;
  await rig.looked();
  t.strictSame(rig.happened(), []);
  await rig.after(MINUTE);
  t.strictSame(rig.happened(), ['lab_end_near']);
  t.match(rig.told, [/^Nobody uses the lab: it ends in 60 minutes/]);
  await rig.after(59 * MINUTE);
  rig.uses.note(ID);
  await rig.after(MINUTE);
  t.strictSame(rig.happened(), [], 'somebody has come');
  await rig.after(HOUR);
  t.strictSame(rig.happened(), ['lab_end_near']);
  await rig.after(HOUR);
  t.strictSame(rig.happened(), ENDED);
});

void t.test('a snapshot comes first, and who comes meanwhile keeps the lab', async (t) => {
  const rig = new Rig();
  await rig.ends.set(ID, { endsAt: rig.wall + HOUR, snapshot: true }, undefined);
  await rig.looked();
  rig.happened();
  rig.onSnapshot(() => rig.ends.set(ID, { endsAt: rig.wall + HOUR }, undefined));
  await rig.after(HOUR);
  t.strictSame(rig.happened(), ['snapshot End of 2026-11-26T10:00:00']);
  rig.onSnapshot(() => Promise.resolve());
  await rig.looked();
  await rig.after(HOUR);
  t.strictSame(rig.happened(), ['lab_end_near', 'snapshot End of 2026-11-26T11:00:00', ...ENDED]);
});

void t.test('after a restart the record goes on, with a warning of its own', async (t) => {
  const rig = new Rig();
  await rig.ends.set(ID, { endsAt: rig.wall + 2 * HOUR, idleAfter: 3600 }, undefined);
  rig.uses.note(ID);
  await rig.uses.close();
  const again = new Rig(undefined, rig.store);
  await Promise.all([again.ends.start(), again.uses.start()]);
  t.equal(again.uses.last(ID), rig.wall);
  again.wall += 3 * HOUR;
  await again.looked();
  t.strictSame(again.happened(), ['lab_end_near']);
  await again.after(HOUR - MINUTE);
  again.uses.note(ID);
  await again.after(MINUTE);
  t.strictSame(again.happened(), ['lab_end_near', ...ENDED], 'it was idle for a while, too');
});

void t.test('the usual end counts from an opening to the closing', async (t) => {
  const rig = new Rig({ lasts: { user: { usual: 7200, most: 14_400 } }, idle: {} });
  await rig.looked();
  t.equal(rig.ends.of(ID).endsAt, rig.wall + 2 * HOUR);
  rig.isOpen = false;
  await rig.after(30 * MINUTE);
  rig.isOpen = true;
  await rig.after(30 * MINUTE);
  t.equal(rig.ends.of(ID).endsAt, rig.wall + 2 * HOUR);
  const limit = rig.wall + 4 * HOUR;
  await t.rejects(rig.ends.set(ID, { endsAt: limit + 1000 }, 'user'), { code: 'end_too_late' });
  await t.rejects(rig.ends.set(ID, { endsAt: null }, 'user'), { code: 'end_too_late' });
  await rig.ends.set(ID, { endsAt: limit }, 'user');
  rig.isOpen = false;
  await rig.after(MINUTE);
  t.equal(rig.ends.of(ID).endsAt, limit, 'an end that was set stays');
  await rig.ends.set(ID, { endsAt: null }, 'admin');
  rig.isOpen = true;
  await rig.after(DAY);
  t.strictSame(rig.happened(), []);
});

const until = (
  what: string,
  client: Client,
  where: string,
  is: (body: unknown) => boolean,
): Promise<unknown> =>
  eventually(what, async () => {
    const { body } = await client.get(where);
    return is(body) ? body : undefined;
  });
const field = (body: unknown, name: string): unknown => (body as Record<string, unknown>)[name];

/** Waits until `use` has counted as a use of the lab. */
async function isUse(t: Test, what: string, use: () => unknown): Promise<void> {
  const before = field((await ann.get(`${path}/end-time`)).body, 'last_used_at');
  await use();
  const isNew = (body: unknown): boolean => field(body, 'last_used_at') !== before;
  await until(what, ann, `${path}/end-time`, isNew);
  t.pass(what);
}

void t.test('a lab of a user has the end of its role, which the program tells and sets', async (t) => {
  await until('the usual end', ann, `${path}/end-time`, (body) => field(body, 'ends_at') !== null);
  t.match((await ann.get('/v2/end-times')).body, [
    { name: 'mine', idle_after: 7200, snapshot: false, longest: { ends_in: 86_400, idle_after: 28_800 } },
  ]);
  const refused = await ann.put(`${path}/end-time`, { ends_in: 90_000 });
  t.match(refused, { status: 409, body: { code: 'end_too_late', longest_seconds: 86_400 } });
  t.equal((await ann.put(`${path}/end-time`, { idle_after: null })).status, 409);
  t.equal((await ann.put(`${path}/end-time`, { ends_in: 9, ends_at: null })).status, 400);
  const set = await cli(
    t,
    ['end-time', 'mine', '--in', '12h', '--idle', '4h', '--snapshot', 'yes'],
    environment,
  );
  t.match(set, {
    code: 0,
    output: /^ends +20\d\d-.*\nwhen idle for +4h\nsnapshot first +yes\nlast used +/,
  });
  const asked = await cli(t, ['end-time', 'mine', '--in', 'soon'], environment);
  t.match(asked, { code: 1, errors: /soon is no time like 90m/ });
  t.match((await admin.put(`${path}/end-time`, { ends_at: null })).body, { longest: { ends_in: null } });
});

void t.test('a lab that ends is saved, stopped and closed', { skip: missingVpcs() }, async (t) => {
  const body = { name: 'PC', node_type: 'vpcs', compute_id: 'local' };
  const node = await ann.expect(201, 'POST', `${path}/nodes`, body);
  const at = `${path}/nodes/${String(node['node_id'])}`;
  await ann.expect(200, 'POST', `${at}/start`);
  const console = new WebSocket(`${server.url.replace('http', 'ws')}${at}/console/ws`, {
    headers: basic('ann'),
  });
  t.teardown(() => {
    console.terminate();
  });
  await once(console, 'open');
  await isUse(t, 'keys at a console', () => {
    console.send('\r');
  });
  await isUse(t, 'a change', () => ann.put(at, { x: 5 }));
  console.close();
  await ann.expect(200, 'PUT', `${path}/end-time`, { ends_in: 1.5, snapshot: true });
  await until(
    'the warning',
    ann,
    `${path}/history?kind=lab_end_near`,
    (list) => (list as unknown[]).length > 0,
  );
  await until('the end', ann, path, (project) => field(project, 'status') === 'closed');
  t.strictSame(programsOf(node), []);
  const ended = await until(
    'the end',
    ann,
    `${path}/history?kind=lab_ended`,
    (list) => (list as unknown[]).length > 0,
  );
  t.match(ended, [{ message: /its time was over/ }]);
  await ann.expect(201, 'POST', `${path}/open`);
  t.match((await ann.get(`${path}/nodes`)).body, [{ name: 'PC', status: 'stopped' }]);
  t.match((await ann.get(`${path}/snapshots`)).body, [{ name: /^End of 20/ }]);
});
