/** The commands, examples and settings of the README, the guide and the reference work as they are written. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { LIVE_SETTINGS } from '../src/server/settings.js';
import { RandomBytes } from './support/random.js';
import { scratchFolder } from './support/scratch.js';
import { ownConsolePorts, startServer } from './support/server-process.js';
import { missingVpcs } from './support/vpcs.js';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const blocksOf = (page: string): string[] =>
  [...page.matchAll(/```sh\n(.*?)```/gs)].map((match) => match[1] ?? '');
const run = promisify(execFile);
const server = await startServer(t, { environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() } });
const get = async (path: string): Promise<unknown> =>
  (await fetch(`${server.url}/v2/${path}`, { headers: { connection: 'close' } })).json();

const readme = read('README.md');
const blocks = blocksOf(readme);
const GUIDE = readdirSync(new URL('docs/guide/', root)).map((name) => basename(name, '.md'));
/** The page whose examples need a server of their own, which asks for passwords afterwards. */
const OF_ITS_OWN = 'accounts';
const WITH_VPCS = ['lab-files', 'nodes'];
/** The pages whose examples this host can execute. */
const TYPED = GUIDE.filter(
  (name) => name !== OF_ITS_OWN && (!WITH_VPCS.includes(name) || missingVpcs() === false),
);
/** The files that examples send. */
const SENT = ['c7200.image', 'vios.qcow2', 'startup-config.cfg'];

/**
 * The shell of an example: a refused request ends it, a stream that goes on is left after a second, the program that
 * would show packets wants the header of a capture file, and somebody at a console types one ping.
 */
const SHELL = `
set -euo pipefail
curl() {
  case " $* " in
    *' -sN '*) command curl -f --max-time 1 "$@" || [ $? = 28 ] ;;
    *) command curl -f "$@" ;;
  esac
}
telnet() {
  local LC_ALL=C printed=
  exec 3<>"/dev/tcp/$1/$2"
  until [[ $printed == *'PC1' ]]; do read -r -d '>' -u 3 printed; done
  printf 'ping 10.0.0.2 -c 3\\r\\n' >&3
  until [[ $printed == *icmp_seq=3* ]]; do read -r -u 3 printed; echo "$printed"; done
  exec 3<&-
}
wireshark() { head -c 24 | wc -c | grep -qw 24 && cat >/dev/null; }
npx() { shift; '${process.execPath}' '${fileURLToPath(new URL('dist/src/cli/main.js', root))}' "$@"; }
`;

const TEN_LINES = (blocks[1] ?? '').trim().split('\n');
/** It listens to the project, which is closed thirty seconds after the last listener has gone: no page begins with it. */
const LISTENING = TEN_LINES.at(-1) ?? '';

/** Types the ten lines of the README into a shell, and then the examples of a page; returns what they print. */
async function type({
  url = server.url,
  folder,
  name,
  examples,
}: {
  url?: string;
  folder: string;
  name: string;
  examples: readonly string[];
}): Promise<string> {
  for (const [index, file] of SENT.entries()) {
    writeFileSync(join(folder, file), new RandomBytes(index + 1).next(100_000));
  }
  const lab = TEN_LINES.slice(0, -1)
    .join('\n')
    .replace('http://127.0.0.1:3080', url)
    .replace('"name": "first"', `"name": "${name}"`);
  const typed = examples.map((example) => example.replaceAll('/tmp/', `${folder}/pulled-`));
  const script = [SHELL, lab, ...typed].join('\n');
  const environment = { ...process.env, HOME: folder, WIREFARM_URL: url };
  const { stdout } = await run('bash', ['-c', script], { cwd: folder, env: environment });
  return stdout;
}

void t.test('the two commands head the page and are scripts of the package', (t) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const commands = (blocks[0] ?? '').split('\n').map((line) => line.replace(/\s+#.*/, ''));
  t.strictSame(commands.slice(0, 2), ['npm ci && npm start', 'npm ci && npm test']);
  t.hasProps(scripts, ['start', 'test']);
  t.ok(readme.split('\n').length <= 121, 'the page is short');
  t.equal(TEN_LINES.length, 10, 'the example has ten lines');
  t.match(LISTENING, /^curl -sN .*\/notifications /);
  t.end();
});

void t.test(
  'the ten lines make a lab with a link, and every example of the guide goes on from them',
  async (t) => {
    const typed = new Map<string, { folder: string; printed: string }>();
    const typePage = async (name: string): Promise<void> => {
      const folder = scratchFolder(t);
      const examples = blocksOf(read(`docs/guide/${name}.md`));
      t.ok(examples.length > 0, `${name} has examples`);
      typed.set(name, { folder, printed: await type({ folder, name, examples }) });
    };
    const first = await type({ folder: scratchFolder(t), name: 'first', examples: [LISTENING] });
    const [made = '', captured = '', heard = ''] = first.split(/(?<=})(?={)/);
    t.match(JSON.parse(made), { link_type: 'ethernet', nodes: [{ port_number: 0 }, { port_number: 0 }] });
    t.match(JSON.parse(captured), { capturing: true });
    t.match(JSON.parse(heard), { action: 'ping' });
    for (const name of TYPED) await typePage(name);

    const projects = (await get('projects')) as { name: string; project_id: string }[];
    t.same(projects.map(({ name }) => name).sort(), [...TYPED, 'first', 'another', 'copy'].sort());
    const idOf = (name: string): string => projects.find((one) => one.name === name)?.project_id ?? '';
    const images = typed.get('images-and-uploads')?.folder ?? '';
    t.ok(readFileSync(join(images, 'pulled-vios.qcow2')).equals(readFileSync(join(images, 'vios.qcow2'))));
    t.ok(existsSync(join(server.data, 'images', 'IOS', 'c7200.image')), 'the image is where it should be');
    t.match(typed.get('node-files')?.printed, /startup-config\.cfg$/m, 'the archive has the file');
    const files = typed.get('node-files')?.folder ?? '';
    t.ok(readFileSync(join(files, 'back.cfg')).equals(readFileSync(join(files, 'startup-config.cfg'))));

    const pings = typed.get('nodes')?.printed.match(/10\.0\.0\.2 icmp_seq=\d ttl=64/g);
    if (typed.has('nodes')) t.equal(pings?.length, 3, 'the virtual PCs have answered each other');

    for (const name of ['snapshots', 'exports-and-duplicates']) {
      t.match(await get(`projects/${idOf(name)}/stats`), { nodes: 2, links: 1, snapshots: 1 }, name);
    }
    for (const name of ['another', 'copy']) {
      t.match(await get(`projects/${idOf(name)}/stats`), { snapshots: 1 }, name);
    }
  },
);

void t.test('the examples of accounts make users and a token', async (t) => {
  const { url } = await startServer(t);
  const examples = blocksOf(read(`docs/guide/${OF_ITS_OWN}.md`));
  const printed = await type({ url, folder: scratchFolder(t), name: 'lab', examples });
  t.match(printed, /"name":"ann","role":"admin"/);
  t.match(printed, /"name":"nightly","rights":\["projects:read"\]/);
  t.equal((await fetch(`${url}/v2/projects`, { headers: { connection: 'close' } })).status, 401);
});

void t.test('the command of each feature is one of the page that it leads to', (t) => {
  const rows = [...readme.matchAll(/^\| [^|]+ \| `(.*)` \| \[.*\]\((docs\/guide\/.*\.md)\) \|$/gm)];
  t.equal(rows.length, GUIDE.length, 'every page has a row');
  for (const [, command = '', page = ''] of rows)
    t.ok(read(page).includes(command.replace('\\|', '|')), page);
  t.end();
});

void t.test('the reference has every setting as the program tells it', async (t) => {
  const page = read('docs/reference/settings.md');
  const main = fileURLToPath(new URL('dist/src/server/main.js', root));
  const { stdout } = await run(process.execPath, [main, '--help']);
  const told = [...stdout.matchAll(/^ {2}(?:(--[\w-]+)(?: VALUE)?)? +(WIREFARM_\w+)/gm)];
  const rows = [...page.matchAll(/^\| (?:`(--[\w-]+)`)? ?\| `(WIREFARM_\w+)` \|/gm)];
  const named = ([, flag = '', variable = '']: readonly string[]): string => `${flag} ${variable}`;
  t.ok(told.length > 5);
  t.same(rows.map(named), told.map(named), 'the same settings, in the same order');
  const [, live = ''] = /Live are:\n\n(.*?)\n\n/s.exec(page) ?? [];
  const listed = [...live.matchAll(/`--([\w-]+)`/g)].map(([, name]) => name);
  t.same(listed.sort(), [...LIVE_SETTINGS].sort(), 'the live settings');
});

void t.test('an error has the form that the reference shows', async (t) => {
  const [, example = ''] = /```json\n(.*?)```/s.exec(read('docs/reference/limits-and-errors.md')) ?? [];
  const { code, ...shown } = JSON.parse(example) as Record<string, unknown>;
  const answer = (await get('projects/12')) as Record<string, unknown>;
  t.same('code' in answer ? { ...shown, code } : shown, answer);
});

void t.test('the routes beyond GNS3 are routes of the server', async (t) => {
  const { paths } = (await get('openapi.json')) as { paths: Record<string, Record<string, unknown>> };
  const cells = [...read('docs/reference/http-beyond-gns3.md').matchAll(/^\| (`.*?`) \|/gm)].map(
    ([, cell = '']) => cell,
  );
  t.ok(cells.length > 20);
  for (const cell of cells) {
    const methods = cell.match(/\b(GET|POST|PUT|DELETE)\b/g) ?? [];
    const named = [...cell.matchAll(/`(?:(?:GET|POST|PUT|DELETE) )?([\w{}./]*[a-z}][\w{}./]*)`/g)];
    for (const [, path = ''] of named) {
      const wanted = path.replace('compute/{emulator}/', 'compute/qemu/').replace(/^\/?/, '/');
      const isServed = (method: string): boolean =>
        Object.entries(paths).some(
          ([known, calls]) => known.endsWith(wanted) && method.toLowerCase() in calls,
        );
      t.ok(methods.length > 0 && methods.every(isServed), `${methods.join(', ')} ${path}`);
    }
  }
});
