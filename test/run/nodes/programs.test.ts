/** Which programs a server starts that others can reach. */
import { pino } from 'pino';
import t from 'tap';
import { vpcs } from '../../../src/lab/kinds/vpcs.js';
import type { ComputeFiles } from '../../../src/run/files.js';
import { Confinement } from '../../../src/run/nodes/confinement.js';
import type { ProgramRunner } from '../../../src/run/nodes/machine.js';
import { Programs } from '../../../src/run/nodes/programs.js';
import { NO_QUOTAS } from '../../support/no-quotas.js';

const runner: ProgramRunner = {
  kind: vpcs,
  probe: () => Promise.resolve({ isAble: true }),
  newMachine: () => {
    throw new Error('nothing is made');
  },
};
const confinable: ProgramRunner = { ...runner, confinement: { network: 'host' } };

const warnings: unknown[] = [];
const log = Object.assign(pino({ level: 'silent' }), { warn: (given: unknown) => warnings.push(given) });

/** `problem` is what the probe of the host finds. */
function confinementWith(problem: string | undefined): Confinement {
  const files: ComputeFiles = { run: () => Promise.reject(new Error('no file is needed')) };
  const namespaces = { run: () => Promise.resolve(problem as never) };
  return new Confinement({ isWanted: true, mark: 'mark', serverFolders: ['/data'], files, namespaces, log });
}

const strict = (one: typeof runner, confinement?: Confinement): Programs =>
  new Programs({
    quotas: NO_QUOTAS,
    runners: [one],
    mayBeUnconfined: false,
    ...(confinement === undefined ? {} : { confinement }),
  });

const start = (programs: Programs): Promise<string> =>
  programs.start('vpcs', 'project', () => Promise.resolve('started'));

void t.test('a server that others can reach starts only what is confined', async (t) => {
  const able = confinementWith(undefined);
  t.equal(await start(strict(confinable, able)), 'started');
  for (const [refusing, code] of [
    [strict(runner, able), 'kind_unconfined'],
    [strict(confinable, confinementWith('it lacks a capability')), 'programs_unconfined'],
    [strict(confinable), 'programs_unconfined'],
  ] as const)
    await t.rejects(start(refusing), { status: 409, code });
});

void t.test('a server that may have unconfined programs starts all', async (t) => {
  for (const problem of [undefined, 'it lacks a capability'])
    t.equal(
      await start(
        new Programs({
          quotas: NO_QUOTAS,
          runners: [runner],
          mayBeUnconfined: true,
          confinement: confinementWith(problem),
        }),
      ),
      'started',
    );
});

void t.test('a kind with the network of the host gets no other', async (t) => {
  t.equal(
    await new Programs({
      quotas: NO_QUOTAS,
      runners: [confinable],
      mayBeUnconfined: true,
      confinement: confinementWith(undefined),
    }).openNetwork('vpcs', []),
    undefined,
  );
});

void t.test('the reason why programs are not confined is logged once', async (t) => {
  warnings.length = 0;
  const confinement = confinementWith('it lacks a capability');
  for (let times = 0; times < 3; times++) t.equal(await confinement.problem(), 'it lacks a capability');
  t.same(warnings, [{ reason: 'it lacks a capability' }]);
});

void t.test('each node has a user of its own, with its helpers, and another one on other servers', (t) => {
  const confinement = confinementWith(undefined);
  const user = confinement.userOf('first');
  t.equal(confinement.userOf('first/tpm'), user);
  t.not(confinement.userOf('second'), user);
  t.ok(user >= 0x7000_0000 && user <= 0x7ffd_ffff);
  t.end();
});
