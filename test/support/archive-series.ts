/** Projects that are made of another while faults strike: each is whole, or not there. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { finished, type Reply } from './client.js';
import type { FaultLab } from './fault-lab.js';
import type { Series } from './fault-series.js';
import type { Json } from './gns3-project.js';
import { answerProblems } from './snapshot-series.js';

const NAME = 'copy';
const ID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** `make` makes a project of this name. */
export async function projectMaking(
  lab: FaultLab,
  make: (name: string) => Promise<Reply>,
): Promise<Pick<Series, 'act' | 'check'>> {
  await make(NAME);
  const [wanted = ''] = await copies(lab);
  await removeCopies(lab);
  return {
    act: () => make(NAME),
    check: async (outcome) => {
      const problems = [...answerProblems(outcome), ...(await lab.problems())];
      const { reply } = outcome;
      const found = await copies(lab);
      if (reply !== undefined && found.length !== Number(reply.status === 201)) {
        problems.push(`there are ${found.length}`);
      }
      if (found.some((text) => text !== wanted)) problems.push(`it is not whole: ${found.join()}`);
      await removeCopies(lab);
      const left = readdirSync(join(lab.data, 'projects')).filter((name) => !lab.folder.endsWith(name));
      problems.push(
        ...left.filter((name) => !name.startsWith('.')).map((name) => `the folder ${name} is left`),
      );
      const again = await make(NAME);
      if (again.status !== 201) problems.push(`the next attempt: ${again.text}`);
      await removeCopies(lab);
      return problems;
    },
  };
}

async function listed(lab: FaultLab): Promise<Json[]> {
  const { body } = await lab.client.get('/v2/projects');
  return (body as Json[]).filter(({ project_id: id }) => `/v2/projects/${String(id)}` !== lab.base);
}

async function removeCopies(lab: FaultLab): Promise<void> {
  for (const { project_id: id } of await listed(lab)) {
    await lab.client.expect(204, 'DELETE', `/v2/projects/${String(id)}`);
  }
}

/** The content of each copy, as a text to be compared: ids are others in each. */
async function copies(lab: FaultLab): Promise<string[]> {
  const found: string[] = [];
  for (const { project_id: id, name, path } of await listed(lab)) {
    const base = `/v2/projects/${String(id)}`;
    await lab.client.expect(201, 'POST', `${base}/open`);
    const counts = await lab.client.expect(200, 'GET', `${base}/stats`);
    const snapshots = (await lab.client.get(`${base}/snapshots`)).body as Json[];
    const verdicts = await Promise.all(
      snapshots.map(({ snapshot_id: of }) =>
        finished(lab.client, 'POST', `${base}/snapshots/${String(of)}/verify`),
      ),
    );
    const areWhole = verdicts.every(({ body }) => (body as Json)['is_whole'] === true);
    await lab.client.expect(204, 'POST', `${base}/close`);
    found.push(JSON.stringify({ name, counts, areWhole, files: filesOf(String(path)) }));
  }
  return found;
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !relative(folder, path).startsWith('snapshots/') && !path.endsWith('.gns3'))
    .map((path) => {
      const digest = createHash('sha256').update(readFileSync(path)).digest('hex');
      return `${relative(folder, path).replaceAll(ID, 'an id')} ${digest}`;
    })
    .sort();
}
