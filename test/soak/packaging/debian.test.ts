/** The package below the systemd of Debian, on Debian's kernel: both units as an operator installs them. */
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { DebianGuest, missingDebianGuest } from '../../support/debian-guest.js';
import { eventually } from '../../support/eventually.js';
import { NodeLab } from '../../support/node-lab.js';
import { installRelease, supportedNode } from '../../support/packed-release.js';
import { scratchFolder } from '../../support/scratch.js';
import { ownConsolePorts } from '../../support/server-process.js';

/** The guest is reached from another host, and its users are trusted. */
const SETTINGS = `
WIREFARM_CONFIG=/etc/wirefarm/more
WIREFARM_HOST=10.0.2.15
WIREFARM_OPEN=1
WIREFARM_ALLOW_UNCONFINED=1
WIREFARM_KEEP_NODES=600
WIREFARM_PROJECT_MEMORY=64
`;
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
/** The commands of the documents, but for those that start the units. */
const [, COMMANDS = ''] =
  /## systemd\n\n```sh\n([^`]*)systemctl enable --now wirefarm-keeper wirefarm\n```/.exec(
    readFileSync(join(ROOT, 'docs/reference/installing.md'), 'utf8'),
  ) ?? [];
const INSTALLATION = `(set -e
${COMMANDS}
mkdir /etc/wirefarm
printf '%s' '${SETTINGS}' >/etc/wirefarm/environment
echo WIREFARM_LOG_LEVEL=info >/etc/wirefarm/more)`;
const MEMORY = 64 * 1024 * 1024;
const PORT = Number(ownConsolePorts().split('-')[0]);

void t.test('the package serves below systemd', { skip: missingDebianGuest() }, async (t) => {
  const folder = scratchFolder(t);
  const opt = join(folder, 'opt');
  mkdirSync(opt);
  const node = supportedNode(scratchFolder(t));
  cpSync(join(node, 'node'), join(opt, 'node'));
  const environment = { ...process.env, PATH: `${node}:${process.env['PATH']}` };
  cpSync(installRelease(folder, '0.1.1', environment).folder, join(opt, 'wirefarm'), { recursive: true });
  const guest = await DebianGuest.start(t, opt, PORT);
  await guest.expect(INSTALLATION);
  const shown = (what: string, unit = 'wirefarm'): Promise<string> =>
    guest.expect(`systemctl show --value -p ${what} ${unit}`);
  const pcs = (): Promise<string> => guest.expect('pgrep -x vpcs | sort | xargs');
  const journal = (unit: string): Promise<string> =>
    guest.expect(`journalctl -b -o cat -u ${unit} | tail -50`);

  await t.test('both units are ready', async (t) => {
    await guest.expect('systemctl enable --now wirefarm-keeper wirefarm');
    t.same([await shown('ActiveState'), await shown('ActiveState', 'wirefarm-keeper')], ['active', 'active']);
    await eventually(
      'its state is told',
      async () => /Takes new work: 0 open labs, [1-9]/.test(await shown('StatusText')) || undefined,
    );
    t.equal(await shown('User'), 'wirefarm');
  });

  const lab = await NodeLab.left('below systemd', guest);
  const running = [await lab.pc('PC1', '10.0.0.1'), await lab.pc('PC2', '10.0.0.2')];
  const programs = await pcs();
  const areStarted = (): Promise<unknown> =>
    eventually('the nodes run', async () => {
      const states = await Promise.all(running.map((node) => lab.show(node).catch(() => undefined)));
      return states.every((state) => state?.['status'] === 'started') || undefined;
    });

  await t.test('programs are in the groups of their lab, below the unit of the keeper', async (t) => {
    const [pid = ''] = programs.split(' ');
    const group = await eventually(
      'it is in its group',
      async () => /^0::(.*\/of-\S+)\/of-\S+$/m.exec(await guest.expect(`cat /proc/${pid}/cgroup`))?.[1],
    );
    t.match(group, /^\/system\.slice\/wirefarm-keeper\.service\/wirefarm-\w+\/of-/);
    t.equal(await guest.expect(`cat /sys/fs/cgroup${group}/memory.max`), String(MEMORY));
    t.notMatch(await journal('wirefarm'), 'limits of projects do not hold');
  });

  await t.test('settings are read again', async (t) => {
    await guest.expect('echo WIREFARM_LOG_LEVEL=debug >/etc/wirefarm/more; systemctl reload wirefarm');
    await eventually(
      'the log says so',
      async () => (await journal('wirefarm')).includes('the settings were read again') || undefined,
    );
    t.equal(await shown('ActiveState'), 'active');
  });

  await t.test('another server takes the nodes over', async (t) => {
    const former = await shown('MainPID');
    await guest.expect('systemctl restart wirefarm');
    t.not(await shown('MainPID'), former);
    await areStarted();
    t.equal(await pcs(), programs);
  });

  await t.test('a server that stands is started again, and the nodes live on', async (t) => {
    const former = await shown('MainPID');
    await guest.expect(`kill -STOP ${former}`);
    await eventually(
      'the watchdog starts another one',
      async () => Number(await shown('NRestarts')) > 0 || undefined,
    );
    // This waits for it, however long it takes.
    await guest.expect('systemctl start wirefarm');
    t.not(await shown('MainPID'), former);
    t.match(await guest.expect('journalctl -b -o cat -u wirefarm | grep -i watchdog'), /[Ww]atchdog/);
    await areStarted();
    t.equal(await pcs(), programs);
  });

  await t.test('it takes no new work, and ends', async (t) => {
    const drained = await guest.run(
      '/opt/wirefarm/dist/src/cli/main.js drain --url http://10.0.2.15:3080 --wait',
    );
    t.equal(drained.code, 0, drained.output);
    await eventually(
      'systemd is told',
      async () => (await shown('StatusText')).includes('Takes no new work') || undefined,
    );
    await guest.expect('systemctl stop wirefarm');
    t.equal(await shown('Result'), 'success');
    t.equal(await pcs(), programs, 'the programs wait for a server');
    await guest.expect('systemctl stop wirefarm-keeper');
    t.same([await shown('Result', 'wirefarm-keeper'), await pcs()], ['success', '']);
  });
});
