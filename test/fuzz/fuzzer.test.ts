import t from 'tap';
import { fuzz, FuzzFailure } from '../support/fuzzer.js';

const INPUTS = 40_000;
const THIS_FILE = /\/test\/fuzz\/fuzzer\.test\.js$/;
const SAMPLES = ['sample'];

/** Sixteen million inputs would have to be tried at random, were it not told how far each of them came. */
function planted(input: Buffer): void {
  if (input[0] === 0x57) {
    if (input[3] === 0xf1) {
      if (input[5] === 0x9e) throw new Error('the planted defect');
    }
  }
}

void t.test('it finds a bug behind three comparisons', async (t) => {
  const found = fuzz({ samples: SAMPLES, inputs: INPUTS, check: planted, code: THIS_FILE });
  const failure: unknown = await found.catch((error: unknown) => error);
  t.ok(failure instanceof FuzzFailure);
  if (!(failure instanceof FuzzFailure)) return;
  t.match(String(failure.cause), 'the planted defect');
  t.throws(() => {
    planted(failure.input);
  });
  t.comment(`by input ${failure.tried}`);
});

void t.test('random changes alone do not find it', async (t) => {
  t.equal(await fuzz({ samples: SAMPLES, inputs: INPUTS, check: planted, isGuided: false }), 0);
});

void t.test('the same inputs are tried in every run', async (t) => {
  const inputsOf = async (): Promise<string[]> => {
    const inputs: string[] = [];
    const check = (input: Buffer): void => {
      inputs.push(input.toString('hex'));
      if (input[0] === 0x57) inputs.length += 0;
    };
    await fuzz({ samples: SAMPLES, words: ['a word'], inputs: 200, check, code: THIS_FILE });
    return inputs;
  };
  t.same(await inputsOf(), await inputsOf());
});

void t.test('work out of proportion is a defect', async (t) => {
  const spent = (): number => {
    const { user, system } = process.cpuUsage();
    return user + system;
  };
  const slow = (input: Buffer): void => {
    const end = spent() + (input.includes('slow') ? 250_000 : 0);
    while (spent() < end);
  };
  const found = fuzz({ samples: ['slow'], inputs: 0, check: slow });
  await t.rejects(found, { message: /ms of CPU time$/ });
});
