/** The image as an operator makes and runs it; its base is a small Debian with Node.js, so that no registry of images is asked. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { basic } from '../../support/accounts.js';
import { Client } from '../../support/client.js';
import { debianArchive, missingDebian } from '../../support/debian.js';
import { missingDocker, TestEngine } from '../../support/docker-engine.js';
import { eventually } from '../../support/eventually.js';
import { packRelease, supportedNode } from '../../support/packed-release.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';
import { ownConsolePorts } from '../../support/server-process.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
const PROGRAM = '/opt/wirefarm/dist/src/cli/main.js';
const PORT = Number(ownConsolePorts().split('-')[0]);
const SECRET = 'a secret of the image';

/** Debian with Node.js, npm, and the authorities that this host trusts. */
function makeBase(t: Teardown, node: string): string {
  const root = scratchFolder(t);
  execFileSync('tar', ['-C', root, '-xf', debianArchive()]);
  cpSync(join(node, 'node'), join(root, 'usr/local/bin/node'));
  const packages = execFileSync('npm', ['root', '-g']).toString().trim();
  cpSync(join(packages, 'npm'), join(root, 'usr/local/lib/npm'), { recursive: true });
  symlinkSync('../lib/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
  if (existsSync(AUTHORITIES)) {
    mkdirSync(join(root, dirname(AUTHORITIES)), { recursive: true });
    cpSync(AUTHORITIES, join(root, AUTHORITIES));
    writeFileSync(join(root, 'root/.npmrc'), `cafile=${AUTHORITIES}\n`);
  }
  const archive = join(scratchFolder(t), 'base.tar');
  execFileSync('tar', ['-C', root, '-cf', archive, '.']);
  return archive;
}

void t.test('an image is made of the package', { skip: missingDebian() || missingDocker() }, async (t) => {
  const folder = scratchFolder(t);
  const node = supportedNode(scratchFolder(t));
  packRelease(folder, '0.1.1', { ...process.env, PATH: `${node}:${process.env['PATH']}` });
  cpSync(join(ROOT, 'packaging'), join(folder, 'packaging'), { recursive: true });
  cpSync(join(ROOT, '.dockerignore'), join(folder, '.dockerignore'));
  // Each step of the build copies all files where layers cannot lie over each other.
  const hasOverlays = /\toverlay$/m.test(readFileSync('/proc/filesystems', 'utf8'));
  const engine = await TestEngine.start(t, hasOverlays ? 'overlay2' : 'vfs');
  const docker = (...args: readonly string[]): string =>
    execFileSync('docker', ['-H', `unix://${engine.socket}`, ...args], {
      cwd: folder,
      env: { ...process.env, DOCKER_BUILDKIT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
      .toString()
      .trim();
  docker('import', makeBase(t, node), 'debian-with-node');
  const build = ['build', '--network', 'host', '--build-arg', 'BASE=debian-with-node'];
  docker(...build, '-f', 'packaging/Dockerfile', '-t', 'wirefarm', '.');

  await t.test('it has the binaries of one system, and another user than root', (t) => {
    const shell = ['run', '--rm', '--network', 'host', '--entrypoint', 'sh', 'wirefarm', '-c'];
    const binaries = docker(...shell, 'find /opt/wirefarm/node_modules/uWebSockets.js -name "*.node"');
    t.equal(binaries.split('\n').length, 1, binaries);
    t.equal(docker(...shell, 'id -un; stat -c "%U %a" /data'), 'wirefarm\nwirefarm 700');
    t.end();
  });

  const url = `http://127.0.0.1:${PORT}`;
  writeFileSync(join(folder, 'password'), `${SECRET}\n`, { mode: 0o644 });
  const settings = {
    WIREFARM_PORT: String(PORT),
    WIREFARM_URL: url,
    WIREFARM_USER: 'root',
    WIREFARM_PASSWORD_FILE: '/run/password',
  };
  const run = (...rights: readonly string[]): string =>
    docker(
      ...['run', '-d', '--name', 'lab', '--network', 'host', '-v', 'data:/data', ...rights],
      ...['-v', `${join(folder, 'password')}:/run/password:ro`],
      ...Object.entries(settings).flatMap(([name, value]) => ['-e', `${name}=${value}`]),
      'wirefarm',
    );
  run();
  t.teardown(() => docker('rm', '-f', 'lab'));
  const client = new Client(url, basic('root', SECRET));
  const isHealthy = (): Promise<unknown> =>
    eventually('it is healthy', () => {
      try {
        return docker('exec', 'lab', PROGRAM, 'health');
      } catch {
        return undefined;
      }
    });

  await t.test('it serves who has the password', async (t) => {
    await isHealthy();
    t.equal((await new Client(url).get('/v2/projects')).status, 401);
    const { project_id: id } = await client.expect(201, 'POST', '/v2/projects', { name: 'kept' });
    const hub = { name: 'hub', node_type: 'ethernet_hub', compute_id: 'local' };
    await client.expect(201, 'POST', `/v2/projects/${String(id)}/nodes`, hub);
  });

  await t.test('it ends in order, and its data stay', async (t) => {
    docker('stop', 'lab');
    t.equal(docker('inspect', '-f', '{{.State.ExitCode}}', 'lab'), '0');
    docker('start', 'lab');
    await isHealthy();
    t.match((await client.get('/v2/projects')).body, [{ name: 'kept' }]);
  });

  await t.test(
    'root confines programs in it with the rights that the doctor asks for, and has the same data',
    async (t) => {
      const confinement = async (): Promise<unknown> => {
        const { checks } = await client.expect(200, 'GET', '/v2/admin/doctor');
        return (checks as { id: string }[]).find(({ id }) => id === 'rights.confinement');
      };
      const { repair } = (await confinement()) as { repair: string };
      const rights = [...repair.matchAll(/--cap-add \w+/g)].flatMap(([flag]) => flag.split(' '));
      t.equal(rights.length, 6, repair);
      docker('rm', '-f', 'lab');
      run('--user', 'root', ...rights);
      await isHealthy();
      t.match(await confinement(), { level: 'ok', found: 'programs of nodes are confined' });
      t.match((await client.get('/v2/projects')).body, [{ name: 'kept' }]);
    },
  );
});
