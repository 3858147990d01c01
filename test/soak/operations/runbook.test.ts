/** Alert rules fire for planted faults and end with them, and the commands of their pages find and repair them. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { selfSigned } from '../../../src/cli/self-signed.js';
import { PROGRAM } from '../../support/cli.js';
import { Client } from '../../support/client.js';
import { withEngineKiller } from '../../support/engine-killer.js';
import { eventually } from '../../support/eventually.js';
import { end, frameOf, LinkLab } from '../../support/link-lab.js';
import { missingQemu } from '../../support/qemu.js';
import { samplesOf, scrape, type Samples } from '../../support/metric-samples.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';
import { NO_MOUNT, smallDisk } from '../../support/small-disk.js';

const DOCS = fileURLToPath(new URL('../../../../docs/', import.meta.url));
const ALERTS = join(DOCS, 'monitoring/alerts.yml');
const RUNBOOK = join(DOCS, 'runbook');

interface Rule {
  readonly alert: string;
  readonly annotations: { readonly runbook: string };
}

const { groups } = parse(readFileSync(ALERTS, 'utf8')) as {
  groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

const LATE_TURNS = 10;
const LATE_MS = 150;
const FRAMES = Array.from({ length: 5 }, () => frameOf(1, 9000));

const SHELL = `
npx() { shift; '${process.execPath}' '${PROGRAM}' "$@"; }
journalctl() { cat "$log"; }
systemctl() { echo "$@" > "$asked"; }
`;

/** The commands of a section of the page of a rule. */
function commandsOf(alert: string, section: 'Check' | 'Repair' | 'Way back'): string {
  const page = rules.find((rule) => rule.alert === alert)?.annotations.runbook ?? '';
  const text = readFileSync(join(DOCS, '..', page), 'utf8');
  const [, after = ''] = text.split(`## ${section}\n`);
  const [, commands] = /^[^#]*?```sh\n(.*?)```/s.exec(after) ?? [];
  if (commands === undefined) throw new Error(`${page} has no commands in ${section}`);
  return commands;
}

/** All that the commands print; they may fail, as a check does that finds its fault. */
function type(commands: string, environment: Readonly<Record<string, string>>): Promise<string> {
  const env = { ...process.env, NODE_OPTIONS: '', ...environment };
  return new Promise((resolve) => {
    execFile('bash', ['-c', SHELL + commands], { env }, (_error, output, errors) => {
      resolve(output + errors);
    });
  });
}

/** A series as Prometheus would store it from scrapes before the fault, with it, and after it. */
function inputOf(instance: string, phases: readonly Samples[]): { series: string; values: string }[] {
  const lengths = [3, 3, 20];
  const names = new Set(phases.flatMap((samples) => [...samples.keys()]));
  return [...names].map((name) => {
    const labels = `job="wirefarm",instance="${instance}"`;
    const series = name.endsWith('}') ? `${name.slice(0, -1)},${labels}}` : `${name}{${labels}}`;
    const values = phases.flatMap((samples, index) => {
      const value = samples.get(name);
      return Array.from({ length: lengths[index] ?? 0 }, () => (value === undefined ? '_' : String(value)));
    });
    return { series, values: values.join(' ') };
  });
}

/** Whether a rule fires before its fault, with it, and after it. */
function firesAt(alert: string, instance: string): object[] {
  const expr = `clamp_max(count(ALERTS{alertname="${alert}",alertstate="firing",instance="${instance}"}), 1) or vector(0)`;
  return [
    ['2m', 0],
    ['5m', 1],
    ['25m', 0],
  ].map(([eval_time, value]) => ({ expr, eval_time, exp_samples: [{ labels: '{}', value }] }));
}

function rulesAreRight(t: Test, tests: readonly { alert: string; phases: readonly Samples[] }[]): void {
  if (!hasPromtool) {
    t.pass('# SKIP promtool is not installed');
    return;
  }
  const file = join(scratchFolder(t), 'rules.yml');
  const written = {
    rule_files: [ALERTS],
    evaluation_interval: '1m',
    tests: tests.map(({ alert, phases }) => ({
      interval: '1m',
      input_series: inputOf(alert, phases),
      promql_expr_test: firesAt(alert, alert),
    })),
  };
  writeFileSync(file, JSON.stringify(written));
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
  t.equal(status, 0, stdout + stderr);
}

/** The figures of which a board has panels. */
function figuresOf(board: string): ReadonlySet<string> {
  const { panels } = JSON.parse(board) as { panels: { targets: { expr: string }[] }[] };
  return new Set(
    panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => expr.match(/\bwirefarm_[a-z_]+/g) ?? [])),
  );
}

void t.test('each rule has a page, and each page a rule', (t) => {
  if (hasPromtool) execFileSync('promtool', ['check', 'rules', ALERTS], { stdio: 'ignore' });
  const pages = rules.map(({ annotations }) => annotations.runbook.replace('docs/runbook/', ''));
  t.same(pages.sort(), readdirSync(RUNBOOK).sort());
  t.end();
});

void t.test('faults are planted, found by the commands of their pages, and repaired', async (t) => {
  const data = smallDisk(t, 16 * 1024);
  if (data === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    return;
  }
  const folder = scratchFolder(t);
  const environment = withEngineKiller(join(folder, 'engines end at once'));
  const meminfo = join(folder, 'meminfo');
  writeFileSync(meminfo, readFileSync('/proc/meminfo'));
  const mounts = { '/proc/meminfo': meminfo };
  const server = await startServer(t, { data, environment, mounts, flags: ['--kvm', 'off'] });
  const client = new Client(server.url);
  const made = await client.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
  const project = String(made['project_id']);
  const hub = { node_type: 'ethernet_hub', compute_id: 'local', name: 'HUB' };
  await client.expect(201, 'POST', `/v2/projects/${project}/nodes`, hub);
  const place = {
    ...{ url: `${server.url}/v2`, WIREFARM_URL: server.url, data, project },
    ...{ log: join(folder, 'log'), asked: join(folder, 'asked'), link: '' },
    ...{ tls: join(folder, 'tls'), secure: '', CURL_HOME: folder },
  };
  writeFileSync(join(folder, '.curlrc'), 'insecure\n');
  const typed = async (
    t: Test,
    alert: string,
    section: 'Check' | 'Way back',
    shows: RegExp,
  ): Promise<void> => {
    await eventually(`${alert}: ${section} shows ${String(shows)}`, async () => {
      return shows.test(await type(commandsOf(alert, section), place)) || undefined;
    });
    t.pass(`${alert}: ${section}`);
  };
  const scrapeWhen = (what: string, isSo: (samples: Samples) => boolean): Promise<Samples> =>
    eventually(what, async () => {
      const samples = await scrape(client);
      return isSo(samples) ? samples : undefined;
    });
  const sum = (samples: Samples, name: string): number =>
    [...samples].reduce((total, [series, value]) => total + (series.startsWith(name) ? value : 0), 0);
  const free = (samples: Samples): number => samples.get('wirefarm_disk_free_bytes{part="state"}') ?? -1;
  const isRoomy = (samples: Samples): boolean => free(samples) > 4 * 1024 * 1024;
  const sound = await scrapeWhen('the disks are measured', isRoomy);
  const tests: { alert: string; phases: Samples[] }[] = [];

  await t.test('the board shows figures that are there', async (t) => {
    const { text } = await client.get('/metrics');
    const families = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name);
    const figures = figuresOf(readFileSync(join(DOCS, 'monitoring/board.json'), 'utf8'));
    t.ok(figures.size > 15);
    for (const name of figures) t.ok(families.includes(name.replace(/_(bucket|sum|count)$/, '')), name);
  });

  await t.test('a full disk, and changes that cannot be stored', async (t) => {
    const images = join(data, 'images/QEMU');
    mkdirSync(images, { recursive: true });
    t.not(spawnSync('cp', ['/dev/zero', join(images, 'vios-old.qcow2')]).status, 0, 'the disk is full');
    // The store has set some room apart for its next changes.
    const svg = `<svg xmlns="http://www.w3.org/2000/svg"><!--${'x'.repeat(200_000)}--></svg>`;
    await eventually('a change is refused', async () => {
      return (await client.post(`/v2/projects/${project}/drawings`, { svg })).status === 507 || undefined;
    });
    const full = await scrapeWhen('the disk is full', (samples) => {
      return free(samples) === 0 && sum(samples, 'wirefarm_commit_failures_total') > 0;
    });
    await typed(t, 'WirefarmDiskFull', 'Check', /100%[^]*vios-old\.qcow2/);
    await typed(t, 'WirefarmCommitsFail', 'Check', /reason="disk_full"} [1-9]/);
    await type(commandsOf('WirefarmDiskFull', 'Repair'), place);
    await type(commandsOf('WirefarmCommitsFail', 'Repair'), place);
    await typed(t, 'WirefarmDiskFull', 'Way back', /takes new work/);
    await typed(t, 'WirefarmCommitsFail', 'Way back', /"project_id"|already exists/);
    const after = await scrapeWhen('the disk has room', isRoomy);
    for (const alert of ['WirefarmDiskFull', 'WirefarmCommitsFail'])
      tests.push({ alert, phases: [sound, full, after] });
  });

  await t.test('an engine that dies', async (t) => {
    const before = await scrape(client);
    server.child.kill('SIGUSR2');
    const died = await scrapeWhen('the engine is there again', (samples) => {
      return sum(samples, 'wirefarm_engine_restarts_total') > 0;
    });
    await typed(t, 'WirefarmEngineRestarted', 'Check', /"kind":"engine_restarted"/);
    await type(commandsOf('WirefarmEngineRestarted', 'Repair'), place);
    t.match(await client.get(`/v2/projects/${project}`), { body: { status: 'closed' } });
    await typed(t, 'WirefarmEngineRestarted', 'Way back', /engine_restarts_total{engine="0"} 1[^]*"opened"/);
    tests.push({ alert: 'WirefarmEngineRestarted', phases: [before, died, await scrape(client)] });
  });

  await t.test('a quota that is used up', async (t) => {
    const before = await scrape(client);
    await client.expect(200, 'PUT', `/v2/projects/${project}/quota`, { nodes: 1 });
    const used = await scrape(client);
    await typed(t, 'WirefarmQuotaUsed', 'Check', /"nodes"/);
    await type(commandsOf('WirefarmQuotaUsed', 'Repair'), place);
    await typed(t, 'WirefarmQuotaUsed', 'Way back', /scope="project",resource="nodes"} 0\.01/);
    tests.push({ alert: 'WirefarmQuotaUsed', phases: [before, used, await scrape(client)] });
  });

  await t.test('frames that are lost', async (t) => {
    const lab = new LinkLab({ client, url: server.url }, project);
    const near = await lab.hub();
    const made = await lab.link([end(near, 0), end(await lab.hub(), 0)], { filters: { delay: [30_000, 0] } });
    place.link = String(made['link_id']);
    const { peer, near: port } = await lab.peer(t, near, 1);
    const before = await scrape(client);
    const isLoss = /^wirefarm_drops_total\{.*cause="(delay_full|no_memory)"/;
    // The filter holds 16 MiB.
    const lost = await eventually('the filter is full', async () => {
      for (let burst = 0; burst < 100; burst++) await peer.send(port, FRAMES);
      const samples = await scrape(client);
      const count = [...samples].reduce((total, [name, value]) => total + (isLoss.test(name) ? value : 0), 0);
      return count > 200 ? samples : undefined;
    });
    await typed(t, 'WirefarmFramesLost', 'Check', /cause="\w+"\} [1-9][^]*link_drops_total.* [1-9]/);
    await type(commandsOf('WirefarmFramesLost', 'Repair'), place);
    t.match(await client.get(`${lab.links}/${place.link}`), { body: { filters: {} } });
    await typed(t, 'WirefarmFramesLost', 'Way back', /link_drops_total/);
    tests.push({ alert: 'WirefarmFramesLost', phases: [before, lost, await scrape(client)] });
  });

  await t.test('a host that has promised more memory than it has', { skip: missingQemu() }, async (t) => {
    const node = { node_type: 'qemu', compute_id: 'local', name: 'VM', properties: { ram: 64 } };
    const { node_id: id } = await client.expect(201, 'POST', `/v2/projects/${project}/nodes`, node);
    await client.expect(200, 'POST', `/v2/projects/${project}/nodes/${String(id)}/start`);
    const before = await scrape(client);
    t.equal(before.get('wirefarm_promised_memory_bytes'), 64 * 1024 * 1024);
    writeFileSync(meminfo, 'MemTotal: 32768 kB\nMemFree: 16384 kB\nMemAvailable: 16384 kB\n');
    const overbooked = await scrape(client);
    await typed(t, 'WirefarmHostOverbooked', 'Check', /host_memory_bytes 33554432[^]*"ram":64/);
    await type(commandsOf('WirefarmHostOverbooked', 'Repair'), place);
    await typed(t, 'WirefarmHostOverbooked', 'Way back', /promised_memory_bytes 0/);
    tests.push({ alert: 'WirefarmHostOverbooked', phases: [before, overbooked, await scrape(client)] });
  });

  await t.test('a server that comes round late', async (t) => {
    const before = await scrape(client);
    for (let stop = 0; stop < LATE_TURNS; stop++) {
      server.child.kill('SIGSTOP');
      await sleep(LATE_MS);
      server.child.kill('SIGCONT');
      await client.get('/livez');
    }
    const late = await scrape(client);
    await typed(t, 'WirefarmLate', 'Check', /thread_wait_seconds_total[^]*delay_seconds_bucket\{le="0\.1"\}/);
    await type(commandsOf('WirefarmLate', 'Repair'), place);
    t.equal((await client.get('/readyz')).status, 503, 'no new work comes');
    await typed(t, 'WirefarmLate', 'Way back', /event_loop_delay_seconds_count/);
    t.equal((await client.get('/readyz')).status, 200);
    tests.push({ alert: 'WirefarmLate', phases: [before, late, late] });
  });

  await t.test('a certificate that ends', async (t) => {
    mkdirSync(place.tls);
    const made = selfSigned(['localhost'], new Date(Date.now() - 820 * 24 * 3600 * 1000));
    writeFileSync(join(place.tls, 'cert.pem'), made.certificate);
    writeFileSync(join(place.tls, 'key.pem'), made.key);
    const flags = ['--tls-cert', join(place.tls, 'cert.pem'), '--tls-key', join(place.tls, 'key.pem')];
    const secure = await startServer(t, { flags });
    place.secure = `${secure.url}/v2`;
    const scraped = async (): Promise<Samples> =>
      samplesOf(await type('curl -s ${secure%/v2}/metrics', place));
    const ends = await scraped();
    await typed(t, 'WirefarmCertificateEnds', 'Check', /expires_seconds [34]\d{5}\D[^]*notAfter=/);
    await type(commandsOf('WirefarmCertificateEnds', 'Repair'), place);
    await typed(t, 'WirefarmCertificateEnds', 'Way back', /expires_seconds \d{8}/);
    const renewed = await scraped();
    tests.push({ alert: 'WirefarmCertificateEnds', phases: [renewed, ends, renewed] });
    await secure.stop();
  });

  await t.test('a server that ended', async (t) => {
    await server.stop('SIGKILL');
    writeFileSync(place.log, server.log());
    await typed(t, 'WirefarmDown', 'Check', /"msg":"started"[^]*no server answers/);
    await type(commandsOf('WirefarmDown', 'Repair'), place);
    t.ok(existsSync(place.asked));
    t.equal(readFileSync(place.asked, 'utf8'), 'restart wirefarm\n');
    // Its port may be another program's by now.
    place.WIREFARM_URL = (await startServer(t, { data })).url;
    await typed(t, 'WirefarmDown', 'Way back', /takes new work/);
    const phases = [1, 0, 1].map((up) => samplesOf(`up ${up}\n`));
    tests.push({ alert: 'WirefarmDown', phases });
  });

  await t.test('each rule fires with its fault, and neither before nor after', (t) => {
    const planted = rules.filter(
      ({ alert }) => alert !== 'WirefarmHostOverbooked' || missingQemu() === false,
    );
    t.same(tests.map(({ alert }) => alert).sort(), planted.map(({ alert }) => alert).sort());
    rulesAreRight(t, tests);
    t.end();
  });
});
