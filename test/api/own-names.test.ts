/**
 * Names that are the server's own are not the clients': every route that writes, with every such name, in every
 * spelling. The routes come from the route table, so a new one that takes a name is tried as well, or fails here until
 * somebody says how it is asked.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { routeTable, type Services } from '../../src/api/table.js';
import type { Route } from '../../src/http/route.js';
import { EXTENSION, OWN_FOLDERS } from '../../src/base/disk/own-names.js';
import { Client } from '../support/client.js';
import { ComputeLab } from '../support/compute-lab.js';
import { eventually } from '../support/eventually.js';
import { folderContent } from '../support/folder-content.js';
import { end } from '../support/link-lab.js';
import { projectArchive } from '../support/project-archive-lab.js';
import { rounds } from '../support/rounds.js';
import { startServer } from '../support/server-process.js';
import { SnapshotLab } from '../support/snapshot-lab.js';
import { tarArchive } from '../support/tar-archive.js';
import { metadataOf, TUS } from '../support/tus.js';

interface Ask {
  readonly path: string;
  readonly body?: string | Uint8Array | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

const server = await startServer(t, { flags: ['--nio-networks', '127.0.0.0/8'] });
const client = new Client(server.url);
const lab = await SnapshotLab.make({ client, url: server.url }, { name: 'own' });
const [hub, other] = [await lab.lab.hub(), await lab.lab.hub()];
const link = await lab.lab.link([end(hub, 0), end(other, 0)]);
await lab.write(hub, 'disk', 'what the lab has');
const kept = await lab.take('kept');
const compute = await ComputeLab.open(client);
const KINDS = [
  'atm_switch',
  'frame_relay_switch',
  'ethernet_switch',
  'ethernet_hub',
  'cloud',
  'nat',
  'qemu',
  'vpcs',
  'dynamips',
  'iou',
] as const;
/** The settings without which a node of the kind is not made. */
const NEEDED: Readonly<Partial<Record<string, object>>> = {
  atm_switch: { mappings: {} },
  frame_relay_switch: { mappings: {} },
  iou: { path: 'image.bin' },
  dynamips: { platform: 'c3600', image: 'a.image', ram: 64, slot0: 'NM-4E' },
};
await client.expect(204, 'POST', '/v2/compute/iou/images/image.bin', 'x');
await client.expect(204, 'POST', '/v2/compute/dynamips/images/a.image', 'x');
const nodes = new Map<string, string>();
for (const kind of KINDS) {
  const fields = NEEDED[kind] ?? {};
  const path = await compute.node(kind, fields);
  nodes.set(kind, path.slice(path.lastIndexOf('/') + 1));
}
// Closing writes the topology file, so that nothing writes it later.
await client.expect(204, 'POST', `${lab.path}/close`);
await client.expect(201, 'POST', `${lab.path}/open`);
// So that every folder for what is on its way is there already.
await client.expect(201, 'POST', `${lab.path}/files/README.txt`, 'x');
await client.expect(201, 'POST', `${compute.path}/files/README.txt`, 'x');
await client.expect(204, 'POST', '/v2/symbols/a.svg/raw', '<svg xmlns="http://www.w3.org/2000/svg"/>');
await client.expect(204, 'POST', '/v2/compute/qemu/images/a.qcow2', 'x');
await client.expect(409, 'POST', `/v2/projects/${randomUUID()}/import`, 'x');
await client.expect(201, 'POST', `${lab.nodeFile(hub, '').slice(0, -1)}.tar`, tarArchive([['disk', 'x']]));
await eventually(
  'the digest of the image',
  () => existsSync(join(server.data, 'images/QEMU/a.qcow2.md5sum')) || undefined,
);
mkdirSync(join(lab.folder, 'tmp/snapshot'), { recursive: true });
writeFileSync(join(lab.folder, 'tmp/there'), 'on its way');

/** No handler runs here. */
const SERVICES: unknown = { controller: {}, compute: {} };
const ROUTES = routeTable(SERVICES as Services).routes.filter(({ method }) => method !== 'GET');

/** Path parameters that are looked up, and never become a part of a path on the disk. */
const LOOKED_UP: Readonly<Record<string, string>> = {
  project_id: lab.lab.id,
  node_id: String(hub['node_id']),
  link_id: String(link['link_id']),
  snapshot_id: String(kept['snapshot_id']),
  compute_id: 'local',
  emulator: 'qemu',
  drawing_id: randomUUID(),
  template_id: randomUUID(),
  job_id: randomUUID(),
  backup_id: randomUUID(),
  user_id: randomUUID(),
  token_id: randomUUID(),
  user_name: 'nobody',
  group_name: 'nobody',
  upload_id: randomUUID(),
  adapter_number: '0',
  port_number: '0',
};

const OWN = [
  ...OWN_FOLDERS.flatMap((folder) => [folder, `${folder}/new`, `${folder}/new/deep.svg`]),
  'tmp/there',
  `snapshots/${String(kept['snapshot_id'])}.manifest`,
  'snapshots/snapshots.conf',
  `own${EXTENSION}`,
  `other${EXTENSION}`,
  `other${EXTENSION}/deep`,
];
const IN_PROJECT = [...OWN, ...OWN.map((name) => join(lab.folder, name))];
const NODE_FOLDER = '../../../';
const climbing = (way: string, names: readonly string[] = OWN): string[] => names.map((name) => way + name);

/** Names that no image may have. */
const NO_IMAGES = [
  ...climbing('../', ['tmp', 'tmp/new', 'tmp/new/deep']),
  ...climbing(`../../projects/${lab.lab.id}/`),
  '.new',
  'new.tmp',
  'a.qcow2.md5sum',
];

/** The names of the server's own files, for every path parameter that is not looked up. */
const FREE: Readonly<Record<string, (route: Route) => string[]>> = {
  path: ({ path }) => (path.includes('/nodes/') ? climbing(NODE_FOLDER) : IN_PROJECT),
  filename: () => NO_IMAGES,
  symbol_id: () => [...OWN_FOLDERS, `other${EXTENSION}`, '..', '.'],
  name: () => climbing('../../'),
  action: () => IN_PROJECT,
};

/** The same names as some file system, or some careless piece of code, takes them for. */
function spellings(name: string): string[] {
  const lead = /^(?:\.\.\/)*/.exec(name)?.[0] ?? '';
  const rest = name.slice(lead.length);
  const first = rest.split('/')[rest.startsWith('/') ? -1 : 0] ?? '';
  const after = rest.slice(first.length);
  const variants = [
    rest,
    `./${rest}`,
    `.//${rest}`,
    `new/../${rest}`,
    `${rest}/`,
    ...(first === ''
      ? []
      : [
          first.toUpperCase() + after,
          `${first.slice(0, 1).toUpperCase()}${first.slice(1)}${after}`,
          `${first}//${after.slice(1)}`,
          `${first}.${after}`,
          `${first} ${after}`,
          `${first.slice(0, 2)}\u200c${first.slice(2)}${after}`,
          first.replace('s', '\u017f') + after,
          Array.from(first)
            .map((letter) => fullWidth(letter))
            .join('') + after,
        ]),
  ];
  return variants.map((variant) => lead + variant);
}

const SPELLINGS_OF_A_NAME = rounds(1, Infinity);
let spelled = 0;

/** The next few spellings each time, so that the routes and names have others. */
function someSpellings(name: string): string[] {
  const all = spellings(name);
  if (all.length <= SPELLINGS_OF_A_NAME) return all;
  return Array.from({ length: SPELLINGS_OF_A_NAME }, () => all[spelled++ % all.length] ?? '');
}

function fullWidth(letter: string): string {
  return /[a-z]/.test(letter) ? String.fromCodePoint(letter.charCodeAt(0) + 0xfee0) : letter;
}

/** As bytes of a request line. */
function encoded(name: string): string[] {
  const all = [...Buffer.from(name)].map((octet) => `%${octet.toString(16).padStart(2, '0')}`).join('');
  const parts = name.split('/').map((part) => encodeURIComponent(part));
  return [parts.join('/'), all, ...someSpellings(name).map((spelling) => encodeURIComponent(spelling))];
}

const json = (path: string, body: unknown): Ask => ({
  path,
  body: JSON.stringify(body),
  headers: { 'Content-Type': 'application/json' },
});
const query = (path: string, key: string, value: string): string =>
  `${path}?${new URLSearchParams({ [key]: value }).toString()}`;
const capture = (path: string): Ask[] =>
  climbing('../../').flatMap((name) =>
    someSpellings(name).map((given) => json(path, { capture_file_name: given })),
  );
const renaming = (path: string): Ask[] =>
  NO_IMAGES.flatMap(someSpellings).flatMap((name) => [
    json(path, { filename: 'a.qcow2', to: name }),
    json(path, { filename: name, to: 'b.qcow2' }),
  ]);
const pulling = (path: string): Ask[] =>
  NO_IMAGES.flatMap(someSpellings).map((name) => json(path, { filename: name }));
const place = (path: string): Ask[] =>
  OWN.map((name) => json(path, { name: randomUUID(), path: join(lab.folder, name) }));

/** Names that are not in the path: how each route is asked that takes such, by what it takes. */
const FIELDS: Readonly<Record<string, (path: string) => Ask[]>> = {
  'POST /v2/projects path': (path) => place(path),
  'POST /v2/projects/load path': (path) =>
    OWN.map((name) => json(path, { path: join(lab.folder, name, 'x.gns3') })),
  'PUT /v2/projects/{project_id} path': (path) => place(path),
  'POST /v2/projects/{project_id}/duplicate path': (path) => place(path),
  'POST /v2/projects/{project_id}/import path': (path) =>
    OWN.map((name) => ({
      path: query(path.replace(lab.lab.id, randomUUID()), 'path', join(lab.folder, name)),
      body: projectArchive({}),
    })),
  'POST /v2/projects/{project_id}/import raw': (path) =>
    climbing('../').map((name) => ({
      path: path.replace(lab.lab.id, randomUUID()),
      body: projectArchive({}, { [name]: 'x' }),
    })),
  'POST /v2/images/{emulator}/rename filename': renaming,
  'POST /v2/images/{emulator}/pull filename': pulling,
  'POST /v2/projects/{project_id}/nodes/{node_id}/files.tar folder': (path) =>
    climbing(NODE_FOLDER).flatMap((name) =>
      someSpellings(name).map((given) => ({
        path: query(path, 'folder', given),
        body: tarArchive([['x', 'x']]),
      })),
    ),
  'POST /v2/projects/{project_id}/nodes/{node_id}/files.tar raw': (path) =>
    climbing(NODE_FOLDER).map((name) => ({ path, body: tarArchive([[name, 'x']]) })),
  'POST /v2/projects/{project_id}/links/{link_id}/start_capture capture_file_name': capture,
  ...Object.fromEntries(
    KINDS.map((kind) => [
      `POST /v2/compute/projects/{project_id}/${kind}/nodes/{node_id}/adapters/{adapter_number}/ports/{port_number}/start_capture capture_file_name`,
      capture,
    ]),
  ),
  'POST /v2/uploads raw': (path) =>
    climbing(NODE_FOLDER).flatMap((name) =>
      someSpellings(name).map((given) => ({
        path,
        headers: {
          ...TUS,
          'Upload-Length': '1',
          'Upload-Metadata': metadataOf({
            project_id: lab.lab.id,
            node_id: String(hub['node_id']),
            path: given,
          }),
        },
      })),
    ),
  ...Object.fromEntries(
    KINDS.flatMap((kind) => ['POST', 'PUT'].map((method) => [kind, method])).map(
      ([kind = '', method = '']) => [
        `${method} /v2/compute/projects/{project_id}/${kind}/nodes/{node_id}/adapters/{adapter_number}/ports/{port_number}/nio opaque`,
        (path: string) =>
          OWN.filter((name) => name !== 'own.gns3').flatMap((name) =>
            someSpellings(name).map((given) =>
              json(path, { type: 'nio_unix', local_file: given, remote_file: 'peer.sock' }),
            ),
          ),
      ],
    ),
  ),
};

const READ_ONLY = 'clients send back what they were told, which is not looked at';
const LOCAL_ONLY = 'the place is the server’s unless it runs with --local';
const NO_NAME = 'has no field that names a file of a project';
/** Why what looks as if it named a file is none. */
const NO_FILES: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/links(\/\{link_id\})? capture_file_(name|path)$/, READ_ONLY],
  [/^(POST|PUT) \/v2\/compute\/projects(\/\{project_id\})? path$/, LOCAL_ONLY],
  [/\/nodes(\/\{node_id\})? opaque$/, NO_NAME],
  [/\/quota opaque$/, NO_NAME],
  [/\/drawings(\/\{drawing_id\})? opaque$/, NO_NAME],
  [/\/templates\/\{template_id\} opaque$/, NO_NAME],
  [/\/tickets path$/, 'a path of the server, of which nothing is made'],
  [/^(PATCH|POST) \/v2\/uploads\/\{upload_id\} raw$/, 'where it lands was said when it was begun'],
  [
    / \/v2\/(compute|computes\/\{compute_id\})\/qemu\/img path$/,
    'only its last part counts, in the folder of images',
  ],
  [
    /\/docker\/nodes\/\{node_id\}\/adapters\/.* (opaque|capture_file_name)$/,
    'the same as those of virtual PCs',
  ],
  [/\{action:\.\+\} raw$/, 'nobody reads it'],
  [/ files$/, 'a number'],
  [/(\{path:\.\+\}|\{filename:\.\+\}|\{symbol_id:\.\+\}\/raw) raw$/, 'the name is in the path'],
];

function parametersOf({ path }: Route): string[] {
  return [...path.matchAll(/\{(\w+)/g)].map(([, name = '']) => name);
}

/** The fields of a route, besides its path, that may name a file. */
function fieldsOf({ query: asked, body }: Route): string[] {
  const named = (schema: z.ZodType | undefined): string[] => {
    if (schema === undefined) return [];
    if (!(schema instanceof z.ZodObject)) return ['opaque'];
    return Object.keys(schema.shape).filter((key) => /path|folder|file/.test(key));
  };
  return [...named(asked), ...(body === 'raw' ? ['raw'] : named(body))];
}

/** The path with everything looked up but what is free. */
function pathOf({ path }: Route, free: string | undefined, value = ''): string {
  const kind = KINDS.find((one) => path.includes(`/${one}/`));
  return path.replaceAll(/\{(\w+)(?::\.\+)?\}/g, (_, name: string) => {
    if (name === free) return value;
    if (name === 'node_id' && kind !== undefined) return nodes.get(kind) ?? '';
    if (name === 'project_id' && path.startsWith('/v2/compute/') && kind !== undefined) return compute.id;
    return LOOKED_UP[name] ?? '';
  });
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 });
t.teardown(() => {
  agent.destroy();
});

/** The status; the path goes as it is, which fetch would tidy up. */
function statusOf(method: string, { path, body, headers = {} }: Ask): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = request(server.url, { method, headers, path, agent }, (response) => {
      response.resume().on('end', () => {
        resolve(response.statusCode ?? 0);
      });
    });
    asking.on('error', reject).end(body);
  });
}

const onDisk = (): string[] =>
  ['projects', 'images', 'symbols'].flatMap((folder) =>
    folderContent(join(server.data, folder), []).map((line) => `${folder}/${line}`),
  );

async function refusesAll(t: Test, method: string, asks: readonly Ask[]): Promise<void> {
  const before = onDisk();
  const granted: string[] = [];
  const refused = asks.map(async (ask) => {
    const status = await statusOf(method, ask);
    if (status < 400 || status >= 500) granted.push(`${status} ${method} ${ask.path} ${String(ask.body)}`);
  });
  await Promise.all(refused);
  t.same(granted, [], `${asks.length} requests are refused`);
  t.same(onDisk(), before, 'and nothing has changed');
}

void t.test(
  'no route lets a client write what is the server’s own, however its path spells it',
  async (t) => {
    const routes = ROUTES.filter((route) => parametersOf(route).some((name) => !(name in LOOKED_UP)));
    t.ok(routes.length >= 12, `${routes.length} routes take names in their paths`);
    for (const route of routes) {
      const free = parametersOf(route).find((name) => !(name in LOOKED_UP)) ?? '';
      const names = FREE[free]?.(route);
      if (names === undefined) {
        t.fail(`${route.method} ${route.path}: say in this test whether ${free} names a file`);
        continue;
      }
      await t.test(`${route.method} ${route.path}`, async (t) => {
        const paths = names.flatMap(encoded).map((name) => pathOf(route, free, name));
        await refusesAll(
          t,
          route.method,
          [...new Set(paths)].map((path) => ({ path, body: route.method === 'POST' ? 'x' : undefined })),
        );
      });
    }
  },
);

void t.test('nor does one that takes names elsewhere', async (t) => {
  for (const route of ROUTES) {
    for (const field of fieldsOf(route)) {
      const key = `${route.method} ${route.path} ${field}`;
      if (NO_FILES.some(([pattern]) => pattern.test(key))) continue;
      const asks = FIELDS[key];
      if (asks === undefined) t.fail(`${key}: say in this test how it is asked, or why it names no file`);
      else await t.test(key, (t) => refusesAll(t, route.method, asks(pathOf(route, undefined))));
    }
  }
});

void t.test('an archive brings nothing that is called so', async (t) => {
  const names = OWN.flatMap(someSpellings).filter(
    (name) => !name.startsWith('.') && !/\/$|\/\/|\.\./.test(name),
  );
  const files = Object.fromEntries(names.map((name) => [name, 'planted']));
  const made = Object.keys(files).filter(
    (name) => !((name.split('/')[0] ?? '') in files && name.includes('/')),
  );
  for (const name of made) {
    const id = randomUUID();
    const archive = projectArchive({ id, name: id }, { [name]: 'planted', 'kept.txt': 'x' });
    const reply = await client.request('POST', `/v2/projects/${id}/import`, archive);
    if (reply.status !== 201) continue;
    const { path } = reply.body as { path: string };
    const found = folderContent(path, [`${id}.gns3`]).map((line) => line.split(' ')[0] ?? '');
    t.same(
      found,
      ['kept.txt', 'project-files', 'snapshots'].filter((one) => found.includes(one)),
      name,
    );
    t.ok(found.includes('kept.txt'));
    await client.expect(204, 'DELETE', `/v2/projects/${id}`);
  }
});

void t.test('files of the server’s own are not read or listed, except topology files', async (t) => {
  for (const project of [lab.path, `/v2/compute/projects/${lab.lab.id}`]) {
    for (const name of [...OWN_FOLDERS.map((folder) => `${folder}/new`), 'tmp/there', 'SNAPSHOTS/new']) {
      t.equal((await client.get(`${project}/files/${name}`)).status, 403, `${project} ${name}`);
    }
    t.equal((await client.get(`${project}/files/own.gns3`)).status, 200);
  }
  await ComputeLab.open(client, lab.lab.id);
  const listed = (await client.get(`/v2/compute/projects/${lab.lab.id}/files`)).body as { path: string }[];
  const { node_id } = hub as { node_id: string };
  t.same(listed.map(({ path }) => path).sort(), [
    'README.txt',
    'own.gns3',
    `project-files/ethernet_hub/${node_id}/disk`,
  ]);
});
