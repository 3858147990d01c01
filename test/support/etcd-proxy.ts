/** A way to etcd on which requests and answers are lost, as a test says for each. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Teardown } from './scratch.js';

/** `swallow` loses the answer, `refuse` the request, and `full` answers as an etcd without room. */
export type Fate = 'pass' | 'swallow' | 'refuse' | 'full';

const FULL = { error: 'etcdserver: mvcc: database space exceeded', code: 8 };

export class EtcdProxy {
  /** Asked for each request but watches. */
  fate: (path: string, body: string) => Fate = () => 'pass';
  readonly #target: string;
  readonly #server: Server;

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
  }

  static async start(t: Teardown, target: string): Promise<EtcdProxy> {
    const proxy = new EtcdProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    t.teardown(() => {
      proxy.#server.closeAllConnections();
      proxy.#server.close();
    });
    return proxy;
  }

  /** As `--farm` has it, without a prefix. */
  get address(): string {
    return `etcd://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const body = await text(request);
    const fate = path === '/v3/watch' ? 'refuse' : this.fate(path, body);
    if (fate === 'refuse') response.destroy();
    else if (fate === 'full') response.writeHead(429).end(JSON.stringify(FULL));
    else {
      const answer = await fetch(`${this.#target}${path}`, { method: 'POST', body });
      const answered = await answer.text();
      if (fate === 'swallow') response.destroy();
      else response.writeHead(answer.status).end(answered);
    }
  }
}
