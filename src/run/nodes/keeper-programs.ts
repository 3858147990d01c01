/** Common ways to use programs of the keeper. */
import { randomUUID } from 'node:crypto';
import type { Keeper, Program, ProgramOrder } from '../keeper/keeper.js';

/** A program that was told to end is killed after so long. */
const GRACE_MS = 3000;
/** A program that only answers a question is killed after so long. */
const ANSWER_MS = 10_000;

/** Resolves when the program has gone. */
export async function endProgram(program: Program): Promise<void> {
  program.kill('SIGTERM');
  const patience = setTimeout(() => {
    program.kill('SIGKILL');
  }, GRACE_MS);
  await program.ended;
  clearTimeout(patience);
}

/** The text that a program prints until it ends; undefined when it cannot be started. */
export async function outputOf(
  keeper: Keeper,
  wanted: Pick<ProgramOrder, 'command' | 'args' | 'console'>,
): Promise<string | undefined> {
  try {
    const order = { ...wanted, id: `question-${randomUUID()}`, folder: '/', niceness: 0, memo: null };
    const program = await keeper.spawn({ ...order, environment: {} });
    const patience = setTimeout(() => {
      program.kill('SIGKILL');
    }, ANSWER_MS);
    await program.ended;
    clearTimeout(patience);
    return Buffer.from(program.output).toString('utf8');
  } catch {
    return undefined;
  }
}
