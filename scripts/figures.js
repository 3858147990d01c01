/**
 * Writes the measured figures into the documents: all of bench/results into docs/performance.md, six of them into
 * README.md. What is between the marks in those files is replaced. With --check nothing is written, and the exit
 * code is 1 when a file is not what it should be.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const RESULTS = join(ROOT, 'bench/results');
const BEGIN = '<!-- figures: node scripts/figures.js writes what follows -->';
const END = '<!-- figures: end -->';

/** Each bench: its heading, and how it measures. The page has them in this order. */
const BENCHES = {
  requests: [
    'Requests',
    'Wirefarm and the bare HTTP library, which answers a constant of the same size, in turn, with 16 connections each.',
  ],
  price: [
    'The price of operations',
    'A server with 1,000 users, 10,000 tokens, audit, access log and a reader of its metrics, and one with none of them, in turn, with 16 connections each. Each request comes with the token of another user.',
  ],
  scrapes: [
    'Scrapes of the metrics',
    'The processor time for which a scrape holds the HTTP thread at a stretch: the longest slice of each of 20.',
  ],
  passwords: [
    'Wrong passwords',
    'Requests with a known password, one after the other, alone and while a server holds 1,000 wrong ones from ten addresses, in turn.',
  ],
  growth: ['Large labs', 'Nodes and links are created in turn in a lab of 2,000 nodes and in a small one.'],
  idle: [
    'A server without work',
    'Five starts with an empty data folder; memory and CPU over ten seconds each.',
  ],
  forwarding: [
    'Forwarding between UDP sockets',
    'The engine and a plain forwarder, which takes one datagram a call through the same foreign function layer, in turn.',
  ],
  'engine-pair': [
    'Two engines, one behind the other',
    'Frames arrive in runs, and travel on through a second process.',
  ],
  fused: [
    'Two linked switches in one engine',
    'Cells pass by reference; the logs of the taps are drained without a file.',
  ],
  filters: [
    'Filters',
    'The cost of a filter is what a frame costs more than without it, in an engine without sockets. The delay is that of a whole server.',
  ],
  'capture-cost': [
    'The cost of a capture',
    'One switch without a capture, with one, and with one that a client watches, in turn. CPU is that of the whole server.',
  ],
  'capture-viewers': [
    'Viewers of one link',
    'The link is overloaded to see how much its viewers are given, and lightly loaded to see how old packets are when they arrive.',
  ],
  'capture-many': ['500 captures at once', 'Each has a viewer. One run of a minute.'],
  control: [
    'Changes under load',
    'Ports and mappings of a switch change over HTTP while a steady flow passes it.',
  ],
  scale: ['1,000 switches', 'One run.'],
  labs: [
    'A large lab and many labs',
    'A lab comes up from its file three times, each on a fresh server. There are 400 labs of 20 switches, or as many as the host has descriptors for.',
  ],
  nodes: [
    'Nodes that are programs',
    '200 virtual PCs start on a fresh server. Round trips and frames between two nodes are compared with a forwarder in C that takes one datagram a call.',
  ],
  machines: [
    'QEMU to QEMU',
    'An emulated machine sends UDP to another: as linked nodes, and with the sockets of QEMU back to back.',
  ],
  recovery: [
    'Recovery',
    'An engine is killed while it carries cells; a process is ended while its engine runs.',
  ],
  transfers: [
    'Large files',
    'Files of 1 GiB in all by curl, in one stream and in eight, against nginx and the bare HTTP library on the same disk. ' +
      'nginx does not sync, so its clients do.',
  ],
  'transfer-load': [
    'Other clients during transfers',
    'Short requests and commits run beside large uploads and downloads.',
  ],
  'small-files': [
    'Small files',
    '16 connections write files of a node, against nginx and the bare HTTP library.',
  ],
  snapshots: [
    'Snapshots, exports, imports',
    'A project of 1.8 GiB in 2,066 files with 400 links, against zip, unzip and cp, all synced. CPU and data written ' +
      'are those of the server or of the other program.',
  ],
  'running-snapshots': [
    'Snapshots of labs that run',
    'An emulated Linux guest of 512 MiB is kept while it runs. It is held while its memory is written and its disks are cloned or copied.',
  ],
  console: [
    'The console',
    'Chromium without a GPU. The rates of all links change every second while the map is moved; the SVG is the same picture, ' +
      'moved by one transform. Script and painting are those of the main thread, from the trace of the browser.',
  ],
};

/** The rows of the table in the README: what it says, and the bench and figure that it is. */
const HEADLINES = [
  ['Reads, compared with the bare HTTP library', 'requests', 'read a link, ratio'],
  ['Stored changes, each synced to the disk', 'requests', 'change a node, Wirefarm'],
  [
    'ATM cells through two linked switches of one engine',
    'fused',
    'cells through two fused switches, one core',
  ],
  [
    'A packet is seen by a viewer after',
    'capture-viewers',
    'from sent to seen, 1 viewer, 100 packets/s, p50',
  ],
  [
    'Synced upload of 1 GiB, compared with nginx and a sync',
    'transfers',
    'upload, 1 x 1024 MiB, Wirefarm / nginx, then sync',
  ],
  ['Time of a snapshot, compared with `zip -0`', 'snapshots', 'create, time, Wirefarm / zip -0'],
];

/** The results by name of their bench; the records of soaks are in the same folder, and have no figures. */
export function readResults(folder = RESULTS) {
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  const results = names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
  return new Map(results.flatMap((result) => ('figures' in result ? [[result.bench, result]] : [])));
}

const number = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 4 });
const inCell = (text) => text.replaceAll('|', '\\|');

function amount(value, unit) {
  const [shown, scale] = Math.abs(value) >= 1e6 ? [value / 1e6, ' million'] : [value, ''];
  return `${number.format(shown)}${scale}${unit === '' ? '' : ` ${unit}`}`;
}

function range({ median, least, most }) {
  return least === most && most === median ? '' : `${amount(least, '')} to ${amount(most, '')}`;
}

/** Whether a figure misses its aim, such as "at least 20 million"; undefined when the aim is no such text. */
export function misses({ median, aim = '' }) {
  const [, words, digits, million] =
    /^(at least|at most|less than|under) ([\d.,]+)( million)?$/.exec(aim) ?? [];
  if (words === undefined) return undefined;
  const bound = Number(digits.replaceAll(',', '')) * (million === undefined ? 1 : 1e6);
  if (words === 'at least') return median < bound;
  return words === 'at most' ? median > bound : median >= bound;
}

function aimed(figure) {
  if (figure.aim === undefined) return '';
  return misses(figure) ? `${figure.aim}: **missed**` : figure.aim;
}

function origin({ commit, date, machine }) {
  const { cpu, cores, memoryGiB, kernel, node } = machine;
  return (
    `Commit ${commit}, ${date.slice(0, 10)}; ${cpu}, ${cores} cores, ${memoryGiB} GiB, Linux ${kernel}, ` +
    `Node.js ${node.replace(/^v/, '')}.`
  );
}

function section(name, result) {
  const [title, method] = BENCHES[name] ?? [name, undefined];
  const rows = result.figures.map(
    (figure) =>
      `| ${inCell(figure.name)} | ${amount(figure.median, figure.unit)} | ${range(figure)} | ${aimed(figure)} |`,
  );
  return [
    `## ${title}`,
    '',
    ...(method === undefined ? [] : [method, '']),
    `${origin(result)} To measure again: \`npm run bench ${name}\`.`,
    '',
    '| figure | median | range | aim |',
    '| --- | ---: | ---: | --- |',
    ...rows,
  ].join('\n');
}

/** The generated part of docs/performance.md. */
export function performancePart(results) {
  const known = Object.keys(BENCHES).filter((name) => results.has(name));
  const others = [...results.keys()].filter((name) => !(name in BENCHES)).sort();
  return [...known, ...others].map((name) => section(name, results.get(name))).join('\n\n');
}

/** The generated part of README.md. */
export function headlinePart(results) {
  const rows = HEADLINES.map(([title, bench, name]) => {
    const figure = results.get(bench)?.figures.find((one) => one.name === name);
    if (figure === undefined) throw new Error(`bench/results/${bench}.json has no figure "${name}"`);
    const value =
      figure.unit === '' ? `${number.format(figure.median)} times` : amount(figure.median, figure.unit);
    return `| ${title} | ${value} | ${range(figure)} |`;
  });
  return ['| measured on two shared cores | median | range |', '| --- | ---: | ---: |', ...rows].join('\n');
}

/** The text with another part between the marks. */
export function withPart(text, part) {
  const [head, rest] = text.split(BEGIN);
  const tail = rest?.split(END)[1];
  if (tail === undefined) throw new Error(`there is nothing between ${BEGIN} and ${END}`);
  return `${head}${BEGIN}\n\n${part}\n\n${END}${tail}`;
}

/** Each document by its path, as it is and as it should be. */
export function documents(results = readResults()) {
  const parts = { 'README.md': headlinePart(results), 'docs/performance.md': performancePart(results) };
  return Object.entries(parts).map(([path, part]) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    return { path, text, wanted: withPart(text, part) };
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { path, text, wanted } of documents()) {
    if (text === wanted) continue;
    if (process.argv.includes('--check')) {
      process.stderr.write(`${path} is not what node scripts/figures.js writes\n`);
      process.exitCode = 1;
    } else writeFileSync(join(ROOT, path), wanted);
  }
}
