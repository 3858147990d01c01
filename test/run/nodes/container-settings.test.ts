/** Rules for containers: what is asked of the engine for a node and its image. */
import t from 'tap';
import { docker } from '../../../src/lab/kinds/docker.js';
import {
  containerName,
  containerSettings,
  imageDescription,
  persistentPaths,
  splitWords,
} from '../../../src/run/nodes/docker/container-settings.js';
import { idOf } from '../../support/stored-objects.js';

const PLACE = {
  mark: 'mark',
  resources: '/data/containers',
  sources: ['/a', '/b'],
  privileges: 'all',
} as const;
const bare = imageDescription.parse({ Config: null });

function settingsOf(given: Record<string, unknown>, image = bare, privileges: 'all' | 'fewer' = 'all') {
  const properties = docker.create({ image: 'alpine', ...given }, idOf(7));
  const node = { id: idOf(7), name: 'C 1', projectId: idOf(1), projectFolder: '/lab', consolePort: 5000 };
  return containerSettings({ ...node, properties, adapters: 2 }, image, persistentPaths(properties, image), {
    ...PLACE,
    privileges,
  });
}

void t.test('a command is split into words as a shell does it, and nothing is expanded', (t) => {
  t.same(splitWords(''), []);
  t.same(splitWords('  a  b\tc\n'), ['a', 'b', 'c']);
  t.same(splitWords(`a "b c" 'd "e' f\\ g ""`), ['a', 'b c', 'd "e', 'f g', '']);
  t.same(splitWords(`"a\\"b\\c" 'x\\y' $HOME`), ['a"b\\c', 'x\\y', '$HOME']);
  for (const open of ['"', "'", 'a "b']) t.throws(() => splitWords(open), /without its end/);
  t.end();
});

void t.test('the most general of the persistent folders counts, and bad ones are refused', (t) => {
  const image = imageDescription.parse({
    Config: { Volumes: { '/srv/': {}, '/x:y': {}, '/proc/1': {}, a: {} } },
  });
  const paths = (extra: string[]): string[] => persistentPaths({ extra_volumes: extra }, image);
  t.same(paths([]), ['/etc/network', '/srv']);
  t.same(paths(['/etc', '/srv/a', '/srv2/']), ['/etc', '/srv', '/srv2']);
  for (const bad of [
    '/',
    'a',
    '/../etc',
    '/a/../b',
    '/a:b',
    '/gns3',
    '/gns3volumes/x',
    '/sys',
    '/a\nb',
    '/a\0',
  ])
    t.throws(() => paths([bad]), /Persistent volume/, bad);
  t.end();
});

void t.test('the environment, the hosts and the command follow from the node and its image', (t) => {
  const image = imageDescription.parse({ Config: { Cmd: ['run'], Entrypoint: ['/entry'], User: 'web' } });
  t.match(settingsOf({}, image), {
    Entrypoint: ['/gns3/busybox', 'sh', '/gns3/init.sh', '/entry'],
    Cmd: ['run'],
  });
  t.match(settingsOf({}), { Cmd: ['/bin/sh'], Image: 'alpine:latest', Hostname: 'C-1', User: 'root' });
  t.match(settingsOf({ start_command: 'sh -c "a b"' }, image), { Cmd: ['sh', '-c', 'a b'] });
  const environment = 'A=%vm-name% %unknown%\n\n=x\nGNS3_USER=root\nWIREFARM_NODE=1\nB';
  const { Env: lines } = settingsOf({ environment, extra_hosts: 'a:192.0.2.1\nb:2001:db8::1' }, image) as {
    Env: string[];
  };
  t.same(lines, [
    ...['container=docker', 'GNS3_MAX_ETHERNET=eth1', 'GNS3_VOLUMES=/etc/network', 'GNS3_USER=web'],
    ...[
      'GNS3_EXTRA_HOSTS=192.0.2.1\ta\n2001:db8::1\tb',
      'A=C 1 %unknown%',
      'B',
      `WIREFARM_NODE=mark/${idOf(7)}`,
    ],
  ]);
  for (const extra_hosts of ['a', 'a:b', 'a b:192.0.2.1'])
    t.throws(() => settingsOf({ extra_hosts }), /The extra host/);
  t.end();
});

void t.test('rights are all, or those that networks need', (t) => {
  t.match(settingsOf({}), { HostConfig: { Privileged: true, CapAdd: ['ALL'], NetworkMode: 'none' } });
  const { HostConfig: fewer } = settingsOf({}, bare, 'fewer') as { HostConfig: Record<string, unknown> };
  t.notOk('Privileged' in fewer);
  t.same(fewer['Mounts'], [
    { Type: 'bind', Source: '/data/containers', Target: '/gns3', ReadOnly: true },
    { Type: 'bind', Source: '/a', Target: '/gns3volumes/etc/network' },
  ]);
  t.equal(containerName({ id: 'id', name: 'a b/c' }), 'GNS3.a-b-c.id');
  t.end();
});
