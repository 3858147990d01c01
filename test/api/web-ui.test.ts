/** The web UI of users, and the pages that stand where GNS3 has its own. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { Client } from '../support/client.js';
import { missingBrowser, openPage, shownPage } from '../support/browser.js';
import { eventually } from '../support/eventually.js';
import { LinkLab } from '../support/link-lab.js';
import { headerOf, rawRequest } from '../support/raw-client.js';
import { scratchFolder, type Teardown } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

/** A small page that stands for a built web UI: it asks the interface, and shows the path that it was opened at. */
const PAGE = `<!doctype html><html><head><base href="/static/web-ui/"><title>UI</title>
<link rel="stylesheet" href="styles.css"></head><body>waits<script src="main.js"></script></body></html>`;
const SCRIPT = `
const [, id] = /project\\/(.+)/.exec(location.pathname) ?? [];
if (id === undefined) fetch('/v2/version').then((reply) => reply.json()).then(({ version }) => {
  const { fontStyle } = getComputedStyle(document.body);
  document.body.textContent = [version, location.pathname, fontStyle].join(' ');
});
else {
  const project = '/v2/projects/' + id;
  const json = async (path) => (await fetch(path)).json();
  const told = [];
  const socket = new WebSocket(location.origin.replace('http', 'ws') + project + '/notifications/ws');
  socket.onmessage = async ({ data }) => {
    const { action, event } = JSON.parse(data);
    told.push(action);
    if (action === 'ping') {
      const [template] = (await json('/v2/templates')).filter(({ name }) => name === 'Ethernet switch');
      const body = JSON.stringify({ x: 1, y: 2, compute_id: 'local' });
      await fetch(project + '/templates/' + template.template_id, { method: 'POST', body });
    }
    if (action !== 'node.created') return;
    socket.close();
    const picture = new Image();
    picture.src = '/v2/symbols/' + event.symbol + '/raw';
    await picture.decode();
    const [appliance] = await json('/v2/appliances');
    const report = { told, node: event.name, width: picture.naturalWidth, appliance: appliance.name };
    await fetch(project + '/files/report.json', { method: 'POST', body: JSON.stringify(report) });
  };
}`;

function builtUi(t: Teardown): string {
  const folder = scratchFolder(t);
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), PAGE);
  writeFileSync(join(folder, 'main.js'), SCRIPT);
  writeFileSync(join(folder, 'styles.css'), 'body { font-style: italic }');
  writeFileSync(join(folder, 'assets/font.woff2'), 'font');
  return folder;
}

/** A folder of one appliance. */
function appliances(t: Teardown): string {
  const folder = scratchFolder(t);
  const facts = {
    category: 'guest',
    description: 'a box',
    name: 'Box',
    registry_version: 4,
    status: 'stable',
  };
  const maker = { vendor_name: 'V', vendor_url: 'https://example.org/', product_name: 'B' };
  const by = { maintainer: 'somebody', maintainer_email: 'somebody@example.org' };
  const box = { ...facts, ...maker, ...by, docker: { adapters: 1, image: 'box:1' } };
  writeFileSync(join(folder, 'box.gns3a'), JSON.stringify(box));
  return folder;
}

const folder = builtUi(t);
const secret = join(scratchFolder(t), 'secret.txt');
writeFileSync(secret, 'secret');
symlinkSync(secret, join(folder, 'link.txt'));
const server = await startServer(t, {
  flags: ['--web-ui', folder, '--start-page', 'web-ui', '--appliances', appliances(t), '--local'],
});
const client = new Client(server.url);
const plain = await startServer(t);

void t.test(
  'the web UI runs in a browser that asks for the server itself',
  { skip: missingBrowser() },
  async (t) => {
    t.equal(await shownPage(t, `${server.url}/`), '2.2.60 /static/web-ui/bundled italic');
  },
);

void t.test(
  'a page deep in the web UI makes a node, hears of it over a WebSocket, and shows its symbol and an appliance',
  { skip: missingBrowser() },
  async (t) => {
    const lab = await LinkLab.make({ client, url: server.url }, { name: 'seen in a browser' });
    openPage(t, `${server.url}/static/web-ui/server/1/project/${lab.id}`);
    const report = await eventually('the page reports', async () => {
      const reply = await client.get(`${lab.path}/files/report.json`);
      return reply.status === 200 ? (JSON.parse(reply.text) as object) : undefined;
    });
    const seen = { told: ['ping', 'node.created'], node: 'Switch1', width: 72, appliance: 'Box' };
    t.same(report, seen);
  },
);

void t.test(
  'files of the web UI have their media types, and the page stands for every other path',
  async (t) => {
    const types = [
      ['index.html', 'text/html; charset=utf-8', PAGE],
      ['main.js', 'text/javascript; charset=utf-8', SCRIPT],
      ['styles.css', 'text/css; charset=utf-8', undefined],
      ['assets/font.woff2', 'font/woff2', 'font'],
      ['', 'text/html; charset=utf-8', PAGE],
      ['bundled', 'text/html; charset=utf-8', PAGE],
      ['server/1/project/2', 'text/html; charset=utf-8', PAGE],
      ['assets', 'text/html; charset=utf-8', PAGE],
      ['main.js/none', 'text/html; charset=utf-8', PAGE],
    ] as const;
    for (const [name, type, content] of types) {
      const reply = await client.get(`/static/web-ui/${name}`);
      t.equal(reply.status, 200, name);
      t.equal(reply.headers.get('content-type'), type, name);
      if (content !== undefined) t.equal(reply.text, content, name);
      t.equal(reply.headers.get('x-content-type-options'), 'nosniff');
      t.notMatch(reply.headers.get('content-security-policy') ?? '', 'sandbox', 'its scripts run');
      t.equal(reply.headers.get('cache-control'), 'no-cache');
    }
  },
);

void t.test('a file that has not changed is not sent again, and a part of one is', async (t) => {
  const path = '/static/web-ui/styles.css';
  const tag = (await client.get(path)).headers.get('etag') ?? '';
  t.equal((await client.request('GET', path, undefined, { 'If-None-Match': tag })).status, 304);
  t.match(await client.request('GET', path, undefined, { Range: 'bytes=0-3' }), {
    status: 206,
    text: 'body',
  });
});

void t.test('text goes in gzip to a client that accepts it, as the file is now', async (t) => {
  const path = '/static/web-ui/styles.css';
  const get = (encodings: string, headers: Record<string, string> = {}): ReturnType<typeof rawRequest> =>
    rawRequest(server.port, 'GET', path, { headers: { 'Accept-Encoding': encodings, ...headers } });
  const inGzip = await get('br, gzip;q=0.8');
  t.equal(headerOf(inGzip, 'Content-Encoding'), 'gzip');
  t.equal(headerOf(inGzip, 'Vary'), 'Accept-Encoding, Origin');
  t.equal(gunzipSync(inGzip.body).toString(), 'body { font-style: italic }');
  const tag = headerOf(inGzip, 'ETag') ?? '';
  t.equal((await get('gzip', { 'If-None-Match': tag })).status, 304);
  for (const encodings of ['', 'br', 'gzip;q=0', 'identity']) {
    const plainly = await get(encodings, { 'If-None-Match': tag });
    t.equal(headerOf(plainly, 'Content-Encoding'), undefined, encodings);
    t.equal(plainly.body.toString(), 'body { font-style: italic }', encodings);
  }
  t.match(await get('gzip', { Range: 'bytes=0-3' }), { status: 206 }, 'a part is one of the file itself');
  writeFileSync(join(folder, 'styles.css'), `body { font-style: oblique }${' '.repeat(100_000)}`);
  const changed = await get('gzip', { 'If-None-Match': tag });
  t.match(gunzipSync(changed.body).toString(), 'oblique');
  t.ok(changed.body.length < 1000);
  writeFileSync(join(folder, 'styles.css'), 'body { font-style: italic }');
  const font = await rawRequest(server.port, 'GET', '/static/web-ui/assets/font.woff2', {
    headers: { 'Accept-Encoding': 'gzip' },
  });
  t.equal(font.body.toString(), 'font', 'it is compressed already');
});

void t.test('nothing outside of the folder is served, whatever spelling or link leads there', async (t) => {
  t.equal((await client.get('/static/web-ui/link.txt')).status, 403);
  for (const path of ['..%2f..%2fetc/passwd', '%2e%2e/secret.txt', `%2f${secret.slice(1)}`, 'a%00b']) {
    const reply = await rawRequest(server.port, 'GET', `/static/web-ui/${path}`);
    t.match(reply, { status: 403 }, path);
  }
});

void t.test('curl finds the web UI from the root of the server', (t) => {
  const { stdout } = spawnSync('curl', ['-sSL', '-w', '%{http_code} %{url_effective}', `${server.url}/`]);
  t.equal(stdout.toString(), `${PAGE}200 ${server.url}/static/web-ui/bundled`);
  t.end();
});

void t.test('a server without a web UI says how to have one, and has the console at its root', async (t) => {
  const its = new Client(plain.url);
  t.match(await its.get('/static/web-ui/bundled'), { status: 404, body: { code: 'web_ui_missing' } });
  const page = await its.get('/');
  t.equal(page.status, 200);
  t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  t.match(page.text, /<title>Wirefarm<\/title>/);
  t.match((await its.get('/controller')).text, /<h1>Wirefarm<\/h1>/);
});

void t.test('a server does not start with a folder that has no web UI', async (t) => {
  await t.rejects(startServer(t, { flags: ['--web-ui', scratchFolder(t)] }), /has no index\.html/);
});

void t.test('pages show projects, nodes and images, and take no text for markup', async (t) => {
  const lab = await LinkLab.make({ client, url: server.url }, { name: '<script>alert(1)<script>' });
  await lab.hub();
  await client.expect(204, 'POST', '/v2/compute/qemu/images/a&b.img', 'x'.repeat(64));
  const projects = await client.get('/controller');
  t.match(projects.text, '&lt;script&gt;alert(1)&lt;script&gt;');
  t.notMatch(projects.text, '<script');
  t.match(projects.text, `href="${lab.path.replace('/v2', '')}"`);
  t.match(projects.headers.get('content-security-policy') ?? '', "default-src 'none'");
  const nodes = await client.get(lab.path.replace('/v2', ''));
  t.match(nodes.text, 'ethernet_hub');
  t.match(nodes.text, '1 nodes, 0 links, 0 drawings');
  await client.expect(204, 'POST', `${lab.path}/close`);
  t.match((await client.get(lab.path.replace('/v2', ''))).text, 'The project is closed.');
  t.match((await client.get('/upload')).text, 'a&amp;b.img');
  t.match((await client.get('/compute')).text, 'ethernet_hub');
  t.match(await client.get('/projects/none'), {
    status: 404,
    body: { message: "Project ID none doesn't exist" },
  });
});
