/** The package as an operator uses it: packed, installed, served from, replaced by a newer one, and gone back to. */
import { readdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Program } from '../../support/cli.js';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { installRelease, supportedNode } from '../../support/packed-release.js';
import { scratchFolder } from '../../support/scratch.js';

interface Served {
  readonly client: Client;
  readonly url: string;
  readonly stop: () => Promise<number | null>;
}

async function serve(
  t: Test,
  program: string,
  data: string,
  environment: NodeJS.ProcessEnv,
): Promise<Served> {
  const served = new Program(t, program, ['serve', '--port', '0', '--data', data], environment);
  void served.ended.then(({ code, errors }) => {
    if (code !== 0) t.comment(errors);
  });
  const url = await eventually('it listens', () => / on (http:\S+)\n/.exec(served.output)?.[1]);
  return {
    client: new Client(url),
    url,
    stop: async () => {
      served.child.kill('SIGTERM');
      return (await served.ended).code;
    },
  };
}

void t.test('a package is installed, replaced by a newer one, and gone back to', async (t) => {
  const folder = scratchFolder(t);
  const environment = { ...process.env, PATH: `${supportedNode(scratchFolder(t))}:${process.env['PATH']}` };
  const [older, newer] = ['0.1.1', '0.2.0'].map((version) => installRelease(folder, version, environment));
  t.same(older?.warnings, [], 'an installation on the supported Node.js warns of nothing');
  const content = readdirSync(older?.folder ?? '').filter((name) => name !== 'node_modules');
  t.notOk(content.includes('src'), 'it has everything built');
  t.notOk(readdirSync(join(older?.folder ?? '', 'node_modules')).includes('tap'), 'and nothing of the tests');

  const current = join(folder, 'wirefarm');
  const data = join(folder, 'data');
  const program = join(current, 'dist/src/cli/main.js');
  const use = (release: string | undefined): void => {
    symlinkSync(release ?? '', `${current}.new`);
    renameSync(`${current}.new`, current);
  };
  const projectsOf = async ({ client }: Served): Promise<unknown[]> => {
    const { body } = await client.get('/v2/projects');
    return (body as { name: string }[]).map(({ name }) => name).sort();
  };
  const made: string[] = [];
  for (const release of [older, newer, older]) {
    use(release?.folder);
    const version = release === newer ? '0.2.0' : '0.1.1';
    t.same(await new Program(t, program, ['--version'], environment).ended, {
      ...{ code: 0, errors: '' },
      output: `Wirefarm ${version}\n`,
    });
    const server = await serve(t, program, data, environment);
    t.same(await projectsOf(server), made, 'what another release has stored is there');
    const name = `lab ${made.length}`;
    await server.client.expect(201, 'POST', '/v2/projects', { name });
    made.push(name);
    const health = new Program(t, program, ['health', '--url', server.url], environment);
    t.equal((await health.ended).code, 0);
    t.equal(await server.stop(), 0);
  }
});
