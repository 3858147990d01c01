/** Pages of other origins in a real browser: the browser itself judges the server's answers. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { scratchFolder, type Teardown } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const BROWSER = 'chromium';
const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  ...['--disable-dev-shm-usage', '--virtual-time-budget=10000', '--dump-dom'],
];

function missing(): string | false {
  return spawnSync(BROWSER, ['--version']).error === undefined
    ? false
    : `the program ${BROWSER} is missing: install the package ${BROWSER}`;
}

/** A page that asks the server for everything in turn, and shows what it was told. */
function page(url: string): string {
  const script = `
    const seen = [];
    const ask = async (method, path, body) => {
      try {
        const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
        const reply = await fetch(${JSON.stringify(url)} + path, { method, body, headers });
        const text = await reply.text();
        seen.push(method + ' ' + reply.status + ' ' + reply.headers.get('X-Route'));
        return text === '' ? undefined : JSON.parse(text);
      } catch (error) {
        seen.push(method + ' ' + error.name);
      }
    };
    (async () => {
      await ask('GET', '/v2/version');
      const project = await ask('POST', '/v2/projects', '{"name":"of a page"}');
      const path = '/v2/projects/' + (project?.project_id ?? 'none');
      await ask('PUT', path, '{"name":"renamed"}');
      await ask('DELETE', path);
      document.body.textContent = seen.join('; ');
    })();`;
  return `<!doctype html><title>t</title><body><script>${script}</script>`;
}

interface Pages {
  readonly port: number;
  shows: string;
}

async function servePages(t: Teardown): Promise<Pages> {
  const pages = { port: 0, shows: '' };
  const server = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html').end(pages.shows);
  });
  t.teardown(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  pages.port = (server.address() as AddressInfo).port;
  return pages;
}

/** The text that the page shows when it is done. */
async function shown(t: Teardown, origin: string): Promise<string> {
  const browser = spawn(BROWSER, [...FLAGS, `--user-data-dir=${scratchFolder(t)}`, `${origin}/`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let out = '';
  browser.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  await once(browser, 'close');
  return /<body>(.*)<\/body>/s.exec(out)?.[1]?.trim() ?? out;
}

void t.test(
  'a page of another allowed origin works, one of a refused origin does not',
  { skip: missing() },
  async (t) => {
    const pages = await servePages(t);
    const allowed = `http://localhost:${pages.port}`;
    const server = await startServer(t, { flags: ['--allow-origins', allowed] });
    pages.shows = page(server.url);
    t.equal(
      await shown(t, allowed),
      [
        'GET 200 /v2/version',
        'POST 201 /v2/projects',
        'PUT 200 /v2/projects/{project_id}',
        'DELETE 204 /v2/projects/{project_id}',
      ].join('; '),
    );
    t.equal(
      await shown(t, `http://127.0.0.1:${pages.port}`),
      ['GET', 'POST', 'PUT', 'DELETE'].map((method) => `${method} TypeError`).join('; '),
    );
  },
);
