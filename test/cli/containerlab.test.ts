/** Labs of containerlab as lab files: ten files that use the documented keys, and what of them has no counterpart. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { LabSource } from '../../src/cli/lab-source.js';
import { labFile } from '../../src/lab/lab-file/lab-file-form.js';

const FOLDER = fileURLToPath(new URL('../../../test/fixtures/containerlab/', import.meta.url));
const UNMAPPED = JSON.parse(readFileSync(join(FOLDER, 'unmapped.json'), 'utf8')) as Record<string, string[]>;
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.clab.yml'));
/** The keys of nodes that containerlab documents. */
const KEYS = [
  ...[
    'kind',
    'type',
    'group',
    'image',
    'image-pull-policy',
    'license',
    'startup-config',
    'enforce-startup-config',
  ],
  ...[
    'suppress-startup-config',
    'auto-remove',
    'startup-delay',
    'binds',
    'ports',
    'env',
    'env-files',
    'user',
  ],
  ...[
    'entrypoint',
    'cmd',
    'labels',
    'mgmt-ipv4',
    'mgmt-ipv6',
    'network-mode',
    'runtime',
    'exec',
    'memory',
    'cpu',
  ],
  ...['cpu-set', 'sysctls', 'dns', 'certificate', 'healthcheck', 'aliases', 'stages', 'devices', 'cap-add'],
  ...['shm-size', 'restart-policy', 'components', 'publish', 'extras', 'config', 'position', 'privileged'],
];

async function read(name: string, kinds?: string): Promise<{ value: unknown; unmapped: string[] }> {
  const unmapped: string[] = [];
  const path = join(FOLDER, name);
  const onUnmapped = (told: string): void => {
    unmapped.push(told.slice(FOLDER.length + name.length + 1));
  };
  const { value } = await LabSource.read(path, { kinds, onUnmapped });
  return { value, unmapped };
}

void t.test('each file becomes a lab file, and what has no counterpart is told with its line', async (t) => {
  t.equal(FILES.length, 10);
  for (const name of FILES) {
    const { value, unmapped } = await read(name);
    const parsed = labFile.safeParse(value);
    t.ok(parsed.success, `${name} ${parsed.success ? '' : parsed.error.message}`);
    t.same(unmapped, UNMAPPED[name], name);
  }
  const texts = FILES.map((name) => readFileSync(join(FOLDER, name), 'utf8')).join('');
  for (const key of KEYS) t.match(texts, RegExp(`[ {]${key}:`), 'the files have all keys');
});

void t.test('settings come from defaults, kind, group and node, the later first', async (t) => {
  const { value } = await read('03-inheritance.clab.yml');
  const node = (image: string, level: string, more: object): object => ({
    ...{ kind: 'docker', start: true },
    properties: { image, environment: `SITE=here\nLEVEL=${level}`, ...more },
  });
  t.same(value, {
    name: 'inheritance',
    nodes: {
      one: node('debian:12', 'group', { start_command: 'nginx', adapters: 3 }),
      two: node('debian:11', 'node', { adapters: 2 }),
    },
    links: [{ ends: ['one:2/0', 'two:1/0'] }],
  });
});

void t.test('files and folders that are bound beside the lab become files of the container', async (t) => {
  const { value } = await read('07-files.clab.yml');
  const { a } = (value as { nodes: Record<string, object> }).nodes;
  t.match(a, { properties: { extra_volumes: ['/etc/conf', '/srv/www'] } });
  t.same((a as { files: unknown }).files, {
    'etc/conf/main.conf': { text: 'main\n' },
    'etc/conf/site/hello.conf': { text: 'hello\n' },
    'srv/www/hello': { text: 'hello\n' },
  });
});

void t.test('a file says what nodes of a kind become', async (t) => {
  const { value, unmapped } = await read('04-vendors.clab.yml', join(FOLDER, 'kinds.yaml'));
  t.match(value, {
    nodes: {
      vr: { template: 'vios' },
      srl: { template: 'SR Linux', files: { 'config.cfg': { text: /host-name srl/ } } },
      ceos: {
        properties: { extra_volumes: ['/mnt/flash'] },
        files: { 'mnt/flash/startup-config': { text: 'hostname ceos\n' } },
      },
    },
    links: [
      ['srl:0/0', 'ceos:1/0'],
      ['ceos:2/0', 'vr:0/0'],
    ].map((ends) => ({ ends })),
  });
  t.match(unmapped.join('\n'), /far: nodes of the kind border0 without an image need a line in --kinds/);
  await t.rejects(read('04-vendors.clab.yml', join(FOLDER, 'none.yaml')), /cannot read .*none\.yaml/);
});
