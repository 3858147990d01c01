/** Pages of other origins in a real browser: the browser itself judges the server's answers. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { missingBrowser, shownPage } from '../support/browser.js';
import type { Teardown } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

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

void t.test(
  'a page of another allowed origin works, one of a refused origin does not',
  { skip: missingBrowser() },
  async (t) => {
    const pages = await servePages(t);
    const allowed = `http://localhost:${pages.port}`;
    const server = await startServer(t, { flags: ['--allow-origins', allowed] });
    pages.shows = page(server.url);
    t.equal(
      await shownPage(t, `${allowed}/`),
      [
        'GET 200 /v2/version',
        'POST 201 /v2/projects',
        'PUT 200 /v2/projects/{project_id}',
        'DELETE 204 /v2/projects/{project_id}',
      ].join('; '),
    );
    t.equal(
      await shownPage(t, `http://127.0.0.1:${pages.port}/`),
      ['GET', 'POST', 'PUT', 'DELETE'].map((method) => `${method} TypeError`).join('; '),
    );
  },
);
