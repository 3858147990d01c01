import t from 'tap';
import type { BpfCompiler } from '../../../src/engine/bpf/bpf-compiler.js';
import { FilterPlans } from '../../../src/run/nodes/filter-plans.js';
import { refusals } from '../../../src/base/errors/errors.js';
import { LINK_TYPE } from '../../../src/engine/wire/pcap.js';
import { matcherOf, type BpfProgram } from '../../../src/engine/wire/bpf.js';

/** Returns 1 for every packet. */
const MATCHES_ALL: BpfProgram = { instructions: Uint32Array.of(0x06, 0, 0, 1) };

/** Takes every expression but those with `bad`, and breaks at `broken`. */
function plansOf(compiled: [string, number][] = []): FilterPlans {
  const compiler: Pick<BpfCompiler, 'compile'> = {
    compile: (expression, linkType) => {
      compiled.push([expression, linkType]);
      if (expression.includes('bad')) return Promise.reject(refusals.bpfRefused(expression, 'syntax error'));
      if (expression.includes('broken')) return Promise.reject(new Error('the thread has died'));
      return Promise.resolve(MATCHES_ALL);
    },
  };
  return new FilterPlans(compiler as BpfCompiler);
}

const ASKER = { projectId: 'one' };

const wanted = (text: string): Parameters<FilterPlans['planOf']>[1] => {
  return { both: { bpf: [text] }, outward: {}, inward: {}, seed: 1 };
};
const nobody = (message: string): void => {
  throw new Error(`nobody should be told ${message}`);
};

void t.test('each line is checked as the frames of the node are seen', async (t) => {
  const compiled: [string, number][] = [];
  await plansOf(compiled).check(LINK_TYPE.FRELAY, { bpf: ['ip\n\n tcp '], delay: [3] }, ASKER);
  await plansOf(compiled).check(LINK_TYPE.SUNATM, { delay: [3] }, ASKER);
  t.same(compiled, [
    ['ip', 107],
    ['tcp', 107],
  ]);
  await t.rejects(plansOf().check(LINK_TYPE.EN10MB, { bpf: ['ip\nbad'] }, ASKER), {
    message: /'bad': syntax error/,
  });
});

void t.test('an expression that does not compile is told and drops nothing, the others do', async (t) => {
  const told: string[] = [];
  const plan = await plansOf().planOf(LINK_TYPE.EN10MB, wanted('ip\nbad'), ASKER, (message) =>
    told.push(message),
  );
  t.match(told, ["ignoring BPF packet filter 'bad': Invalid BPF expression 'bad': syntax error"]);
  const [stage] = plan?.outward ?? [];
  const packet = new Uint8Array(60);
  t.same(
    stage?.type === 'bpf' && stage.programs.map((program) => matcherOf(program)(packet, 0, packet.length)),
    [true, false],
  );
});

void t.test('an error that is not the fault of the expression is not hidden', async (t) => {
  await t.rejects(plansOf().planOf(LINK_TYPE.EN10MB, wanted('broken'), ASKER, nobody), {
    message: 'the thread has died',
  });
});

void t.test('without filters there is no plan', async (t) => {
  const none = { both: {}, outward: {}, inward: {}, seed: undefined };
  t.equal(await plansOf().planOf(LINK_TYPE.EN10MB, none, ASKER, nobody), undefined);
});
