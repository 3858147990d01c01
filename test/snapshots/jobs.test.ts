import { pino } from 'pino';
import t from 'tap';
import { Intake } from '../../src/base/intake.js';
import { Channel } from '../../src/base/streams/channel.js';
import { Jobs, type Job, type JobOwner } from '../../src/snapshots/jobs.js';
import { NO_QUOTAS } from '../support/no-quotas.js';

/** Events may be told some turns of the loop later: each turn gives a slice of its time to them. */
const TURNS = 20;

async function turn(): Promise<void> {
  for (let left = TURNS; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
}

interface Rig {
  readonly jobs: Jobs;
  readonly told: string[];
  /** Begins a job that lasts until it is let go. */
  readonly begin: (owner: JobOwner, subject: string) => { done: Promise<string>; letGo: () => void };
}

function rig(): Rig {
  const announcements = new Channel();
  const told: string[] = [];
  announcements.subscribe((line) => {
    const { action, event } = JSON.parse(line) as {
      action: string;
      event: Record<string, string | undefined>;
    };
    told.push(`${action} ${event['subject'] ?? ''} ${event['outcome'] ?? ''}`.trim());
  });
  const jobs = new Jobs(announcements, {
    intake: new Intake(),
    log: pino({ level: 'silent' }),
    quotas: NO_QUOTAS,
  });
  return {
    jobs,
    told,
    begin(owner, subject) {
      let letGo = (): void => undefined;
      const released = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      const work = async ({ progress }: Job): Promise<string> => {
        await released;
        progress.advance(1);
        return subject;
      };
      const done = jobs.run(owner, 'snapshot.create', subject, work);
      return {
        done,
        letGo: () => {
          letGo();
        },
      };
    },
  };
}

const ONE = { id: 'one' };
const TWO = { id: 'two' };
const THREE = { id: 'three' };

void t.test('jobs of a project run one after the other, and two at once in all', async (t) => {
  const { jobs, told, begin } = rig();
  const begun = [begin(ONE, 'a'), begin(ONE, 'b'), begin(TWO, 'c'), begin(THREE, 'd')];
  await turn();
  t.same(told, ['job.started a', 'job.started c']);
  t.match(jobs.of('one'), [
    { subject: 'a', state: 'running' },
    { subject: 'b', state: 'waiting' },
  ]);
  t.match(jobs.of('three'), [{ subject: 'd', state: 'waiting' }]);
  begun[0]?.letGo();
  await turn();
  t.same(told.slice(2), ['job.ended a done', 'job.started d'], 'who waited longest for a thread is next');
  for (const { letGo } of begun) letGo();
  t.same(await Promise.all(begun.map(({ done }) => done)), ['a', 'b', 'c', 'd']);
  t.same([...jobs.of('one'), ...jobs.of('two'), ...jobs.of('three')], []);
});

void t.test('a failed job is announced with its reason, and the next one runs', async (t) => {
  const { jobs, told, begin } = rig();
  const failing = jobs.run(ONE, 'snapshot.verify', 'a', () => Promise.reject(new Error('no')));
  const next = begin(ONE, 'b');
  next.letGo();
  await t.rejects(failing, { message: 'no' });
  t.equal(await next.done, 'b');
  t.same(told, ['job.started a', 'job.ended a failed', 'job.started b', 'job.ended b done']);
});

void t.test('running and waiting jobs can be cancelled', async (t) => {
  const { jobs, begin } = rig();
  const [running, waiting] = [begin(ONE, 'a'), begin(ONE, 'b')];
  await turn();
  const [first, second] = jobs.of('one');
  t.throws(
    () => {
      jobs.cancel('two', first?.job_id ?? '');
    },
    { message: `Job ID ${first?.job_id ?? ''} doesn't exist` },
  );
  jobs.cancel('one', first?.job_id ?? '');
  jobs.cancel('one', second?.job_id ?? '');
  running.letGo();
  const cancelled = { message: 'Cancelled on request: nothing was changed' };
  await t.rejects(running.done, cancelled);
  await t.rejects(waiting.done, cancelled, 'it does not begin');
});

void t.test('the project is held until its job has ended', async (t) => {
  const { begin } = rig();
  let holds = 0;
  const owner = {
    id: 'held',
    hold: () => {
      holds++;
      return () => {
        holds--;
      };
    },
  };
  const [a, b] = [begin(owner, 'a'), begin(owner, 'b')];
  t.equal(holds, 2);
  a.letGo();
  await a.done;
  t.equal(holds, 1);
  b.letGo();
  await b.done;
  t.equal(holds, 0);
});

void t.test('closing cancels all jobs, and no new one begins', async (t) => {
  const { jobs, begin } = rig();
  const begun = [begin(ONE, 'a'), begin(ONE, 'b'), begin(TWO, 'c')];
  const failed = Promise.all(begun.map(({ done }) => t.rejects(done, { name: 'Refusal', status: 409 })));
  await turn();
  let isClosed = false;
  const closing = jobs.close().then(() => {
    isClosed = true;
  });
  await t.rejects(begin(TWO, 'late').done, { name: 'Refusal', status: 503 });
  t.notOk(isClosed, 'it waits for what runs');
  for (const { letGo } of begun) letGo();
  await closing;
  await failed;
});

void t.test('at most 64 jobs may wait for one project', async (t) => {
  const { begin } = rig();
  const begun = Array.from({ length: 64 }, (_, index) => begin(ONE, String(index)));
  await t.rejects(begin(ONE, 'one more').done, { name: 'Refusal', status: 503 });
  const other = begin(TWO, 'of another');
  other.letGo();
  t.equal(await other.done, 'of another');
  for (const { letGo } of begun) letGo();
  t.equal((await Promise.all(begun.map(({ done }) => done))).length, 64);
});

void t.test('beside many jobs of one lane, another waits for at most one of them', async (t) => {
  const { told, begin } = rig();
  const many = Array.from({ length: 20 }, (_, index) =>
    begin({ id: `import-${index}`, lane: 'imports' }, `import ${index}`),
  );
  await turn();
  const honest = begin(ONE, 'honest');
  await turn();
  t.same(told, ['job.started import 0', 'job.started import 1']);
  for (const index of [0, 1, 2]) {
    many[index]?.letGo();
    await turn();
  }
  const started = told.filter((line) => line.startsWith('job.started'));
  t.equal(started.indexOf('job.started honest') - 2, 1, 'one of the others was before it');
  honest.letGo();
  for (const { letGo } of many) letGo();
  await Promise.all([honest.done, ...many.map(({ done }) => done)]);
  t.equal(told.filter((line) => line.startsWith('job.ended')).length, 21, 'all end');
});
