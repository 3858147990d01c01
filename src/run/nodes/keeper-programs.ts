/** Common ways to use programs of the keeper. */
import { randomUUID } from 'node:crypto';
import type { Keeper, Program, ProgramOrder } from '../keeper/keeper.js';

/** A program that was told to end is killed after so long. */
const GRACE_MS = 3000;
/** A program that only answers a question is killed after so long. */
const ANSWER_MS = 10_000;

/** Resolves when the program has gone, also one that stands still. */
export async function endProgram(program: Program): Promise<void> {
  program.kill('SIGTERM');
  program.kill('SIGCONT');
  const patience = setTimeout(() => {
    program.kill('SIGKILL');
  }, GRACE_MS);
  await program.ended;
  clearTimeout(patience);
}

interface ProgramAnswer {
  /** Null when it was killed. */
  readonly status: number | null;
  /** The last 64 KiB. */
  readonly printed: Uint8Array;
}

/** Waits until a program has ended, which is killed after so long. Undefined when it cannot be started. */
export async function answerOf(
  keeper: Keeper,
  wanted: Pick<ProgramOrder, 'command' | 'args' | 'console'> & Partial<Pick<ProgramOrder, 'folder'>>,
  limitMs = ANSWER_MS,
): Promise<ProgramAnswer | undefined> {
  try {
    const order = { folder: '/', ...wanted, id: `question-${randomUUID()}`, niceness: 0, memo: null };
    const program = await keeper.spawn({ ...order, environment: {}, endsWithServer: true });
    const patience = setTimeout(() => {
      program.kill('SIGKILL');
    }, limitMs);
    const { code } = await program.ended;
    clearTimeout(patience);
    return { status: code, printed: program.output };
  } catch {
    return undefined;
  }
}

/** The text that a program prints until it ends; undefined when it cannot be started. */
export async function outputOf(
  keeper: Keeper,
  wanted: Pick<ProgramOrder, 'command' | 'args' | 'console'>,
): Promise<string | undefined> {
  const answer = await answerOf(keeper, wanted);
  return answer === undefined ? undefined : Buffer.from(answer.printed).toString('utf8');
}
