/** Works with snapshots while faults strike, and the conditions that hold afterwards. */
import type { Reply } from './client.js';
import type { FaultLab } from './fault-lab.js';
import type { Outcome } from './fault-server.js';
import type { Series } from './fault-series.js';

type Work = Pick<Series, 'prepare' | 'act' | 'check'>;

const REFUSALS = [409, 500, 503, 507];

/** A third snapshot, which is whole or not there, and can be made and removed then. */
export async function making(lab: FaultLab): Promise<Work> {
  const before = await lab.content();
  return {
    act: () => lab.create('third'),
    check: async (outcome) => {
      const problems = [...answerProblems(outcome), ...(await lab.problems())];
      if ((await lab.content()) !== before) problems.push('the project has changed');
      const isListed = (await lab.listed()).has('third');
      if (outcome.reply !== undefined && isListed !== (outcome.reply.status === 201)) {
        problems.push(`it is listed: ${String(isListed)}`);
      }
      if (!isListed) problems.push(...(await refusal(201, () => lab.create('third'))));
      problems.push(...(await refusal(204, async () => lab.delete(await lab.idOf('third')))));
      return [...problems, ...lab.strayObjects()];
    },
  };
}

/** The third snapshot goes, or stays whole. */
export function removing(lab: FaultLab): Work {
  return {
    prepare: async () => {
      if (!(await lab.listed()).has('third')) await lab.create('third');
    },
    act: async () => lab.delete(await lab.idOf('third')),
    check: async (outcome) => {
      const problems = [...answerProblems(outcome), ...(await lab.problems())];
      const isListed = (await lab.listed()).has('third');
      if (isListed && outcome.reply?.status === 204) problems.push('it is still listed');
      if (!isListed) problems.push(...(await refusal(201, () => lab.create('third'))));
      problems.push(...(await refusal(204, async () => lab.delete(await lab.idOf('third')))));
      return [...problems, ...lab.strayObjects()];
    },
  };
}

/** The project goes from one of two contents to the other, and is entirely one of them at any time. */
export async function restoring(lab: FaultLab, restore: (id: string) => Promise<Reply>): Promise<Work> {
  const contents = new Map<string, string>();
  // Files that are no part of a snapshot differ only before the first time.
  for (const name of ['first', 'second', 'first', 'second']) {
    await restore(await lab.idOf(name));
    contents.set(name, await lab.content());
  }
  let wanted = 'first';
  return {
    prepare: async () => {
      wanted = (await lab.content()) === contents.get('first') ? 'second' : 'first';
    },
    act: async () => restore(await lab.idOf(wanted)),
    check: async (outcome) => {
      const problems = answerProblems(outcome);
      // An interrupted restore goes on now.
      await lab.open();
      problems.push(...(await lab.problems()));
      const now = await lab.content();
      if (![...contents.values()].includes(now)) problems.push(`it is neither: ${now}`);
      if (outcome.reply?.status === 201 && now !== contents.get(wanted)) problems.push('it is not as before');
      problems.push(...(await refusal(201, async () => restore(await lab.idOf(wanted)))));
      if ((await lab.content()) !== contents.get(wanted)) problems.push('the next attempt is not whole');
      return problems;
    },
  };
}

/** Only what was hit may be refused. */
export function answerProblems({ reply, hasFired }: Outcome): string[] {
  if (reply === undefined || reply.status < 400 || (hasFired && REFUSALS.includes(reply.status))) return [];
  return [`it was answered with ${reply.status}: ${reply.text}`];
}

async function refusal(wanted: number, act: () => Promise<Reply>): Promise<string[]> {
  const { status, text } = await act();
  return status === wanted ? [] : [`the next attempt: ${status} ${text}`];
}
