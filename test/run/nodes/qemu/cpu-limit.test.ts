/** The limit of the processors that a guest may take. */
import { availableParallelism } from 'node:os';
import t from 'tap';
import { checkCpuLimit, cpuLimitOf, limitCpu } from '../../../../src/run/nodes/qemu/cpu-limit.js';
import type { ComputeFiles } from '../../../../src/run/files.js';
import type { Keeper } from '../../../../src/run/keeper/keeper.js';

const NODE = { id: 'node', name: 'Q1', properties: { cpu_throttling: 50 } };

/** A host with or without the controller, and without the program cpulimit. */
function hostOf(limitsCpu: boolean) {
  const keeper: Pick<Keeper, 'limitsCpu' | 'spawn'> = {
    limitsCpu,
    spawn: ({ command }) => Promise.reject(new Error(`it starts ${command}`)),
  };
  const files: Pick<ComputeFiles, 'run'> = { run: () => Promise.reject(new Error('it looks for cpulimit')) };
  return { keeper, files };
}

void t.test('a control group keeps the limit where the host lends it, and cpulimit elsewhere', async (t) => {
  const [lent, other] = [hostOf(true), hostOf(false)];
  await checkCpuLimit(lent, NODE);
  await (
    await limitCpu(lent, NODE, { pid: 1 })
  )();
  await t.rejects(checkCpuLimit(other, NODE), { message: 'it looks for cpulimit' });
  await t.rejects(limitCpu(other, NODE, { pid: 1 }), { message: 'it starts cpulimit' });
});

void t.test('a limit beyond all processors is none', (t) => {
  const limitOf = (percent: unknown): number | undefined =>
    cpuLimitOf({ properties: { cpu_throttling: percent } });
  t.same([limitOf(undefined), limitOf(0), limitOf(50)], [undefined, undefined, 50]);
  t.equal(limitOf(100 * availableParallelism()), undefined);
  t.end();
});
