/** What the README promises at its head is true. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { RandomBytes } from './support/random.js';
import { scratchFolder } from './support/scratch.js';
import { startServer } from './support/server-process.js';

const root = new URL('../../', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');
const blocks = [...readme.matchAll(/```sh\n(.*?)```/gs)].map((match) => match[1] ?? '');
const run = promisify(execFile);

void t.test('the two commands head the page and are scripts of the package', (t) => {
  const { scripts } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const commands = (blocks[0] ?? '').split('\n').map((line) => line.replace(/\s+#.*/, ''));
  t.strictSame(commands.slice(0, 2), ['npm ci && npm start', 'npm ci && npm test']);
  t.hasProps(scripts, ['start', 'test']);
  t.end();
});

void t.test('the example makes a lab with a link', async (t) => {
  const server = await startServer(t);
  const example = (blocks[1] ?? '')
    .replace('http://127.0.0.1:3080', server.url)
    // The last command streams for ever.
    .replace(/\ncurl -sN .*\n$/, '\n');
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', example]);
  t.match(JSON.parse(stdout), { link_type: 'ethernet', nodes: [{ port_number: 0 }, { port_number: 0 }] });
});

void t.test('the example of images and files does what it says', async (t) => {
  const server = await startServer(t);
  const folder = scratchFolder(t);
  for (const name of ['c7200.image', 'vios.qcow2', 'startup-config.cfg']) {
    writeFileSync(join(folder, name), new RandomBytes(name.length).next(100_000));
  }
  const lab = (blocks[1] ?? '').replace(/\ncurl -sN .*\n$/, '\n').replace(/.*\/links -d.*/, '');
  const example = blocks.find((block) => block.includes('wirefarm push')) ?? '';
  const program = `'${process.execPath}' '${fileURLToPath(new URL('dist/src/cli/main.js', root))}'`;
  const pulled = join(folder, 'pulled');
  const script = (lab + example)
    .replace('http://127.0.0.1:3080', server.url)
    .replaceAll('npx wirefarm', program)
    .replace('/tmp/vios.qcow2', pulled)
    .replaceAll('curl ', 'curl -sf ');
  const environment = { ...process.env, WIREFARM_URL: server.url };
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env: environment });
  t.match(stdout, /startup-config\.cfg\n$/, 'the archive has the file');
  t.ok(readFileSync(pulled).equals(readFileSync(join(folder, 'vios.qcow2'))));
  t.ok(existsSync(join(server.data, 'images', 'IOS', 'c7200.image')));
});

void t.test('the example of snapshots does what it says', async (t) => {
  const server = await startServer(t);
  const lab = (blocks[1] ?? '').replace(/\ncurl -sN .*\n$/, '\n');
  const example = blocks.find((block) => block.includes('/restore')) ?? '';
  const script = (lab + example)
    .replace('http://127.0.0.1:3080', server.url)
    .replaceAll('curl ', 'curl -sf -w "\\n" ');
  await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: scratchFolder(t) });
  const { stdout } = await run('curl', ['-sf', `${server.url}/v2/projects`]);
  const projects = JSON.parse(stdout) as { name: string; project_id: string }[];
  t.same(projects.map(({ name }) => name).sort(), ['another', 'copy', 'first']);
  for (const { project_id: id, name } of projects) {
    const stats = await run('curl', ['-sf', `${server.url}/v2/projects/${id}/stats`]);
    const counts = name === 'first' ? { nodes: 2, links: 1, snapshots: 1 } : { snapshots: 1 };
    t.match(JSON.parse(stats.stdout), counts, name);
  }
});

void t.test('every setting of the command line stands in the table', async (t) => {
  const { stdout } = await run(process.execPath, [
    fileURLToPath(new URL('dist/src/server/main.js', root)),
    '--help',
  ]);
  const variables = [...stdout.matchAll(/WIREFARM_\w+/g)].map(([name]) => name);
  t.ok(variables.length > 5);
  for (const variable of variables) t.ok(readme.includes(`\`${variable}\``), variable);
});
