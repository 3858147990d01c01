/** A Docker engine of a test's own, with an image made of a static busybox. It needs the rights of root. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import type { Teardown } from './scratch.js';

export const IMAGE = 'wirefarm-test:latest';

/** Names the package of what is missing; false when nothing is. */
export function missingDocker(): string | false {
  if (process.geteuid?.() !== 0) return 'an engine needs the rights of root';
  for (const [program, debianPackage] of [
    ['dockerd', 'docker.io'],
    ['ip', 'iproute2'],
    ['busybox', 'busybox-static'],
  ] as const) {
    if (spawnSync('which', [program]).status !== 0)
      return `the program ${program} is missing: install the package ${debianPackage}`;
  }
  return existsSync('/dev/net/tun') ? false : 'there is no /dev/net/tun';
}

export class TestEngine {
  readonly socket: string;
  readonly #stop: () => Promise<void>;

  private constructor(socket: string, stop: () => Promise<void>) {
    this.socket = socket;
    this.#stop = stop;
  }

  /** `driver` says how images and containers are stored. */
  static async start(t: Teardown, driver: 'vfs' | 'overlay2' = 'vfs'): Promise<TestEngine> {
    // The path of a socket is short.
    const folder = join(tmpdir(), `wfd-${process.pid}`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    const socket = join(folder, 'd.sock');
    const child = spawn(
      'dockerd',
      [
        ...[
          '-H',
          `unix://${socket}`,
          '--data-root',
          join(folder, 'data'),
          '--exec-root',
          join(folder, 'exec'),
        ],
        ...['-p', join(folder, 'pid'), '--storage-driver', driver, '--bridge=none', '--iptables=false'],
        ...['--ip6tables=false'],
      ],
      { stdio: ['ignore', 'ignore', 'ignore'] },
    );
    const exited = once(child, 'exit');
    const stop = async (): Promise<void> => {
      child.kill('SIGTERM');
      await exited;
      // The engine leaves the network of the host mounted when a container has used it.
      spawnSync('umount', ['--quiet', '--lazy', join(folder, 'exec/netns/default')]);
      rmSync(folder, { recursive: true, force: true });
    };
    t.teardown(stop);
    const engine = new TestEngine(socket, stop);
    await eventually('the engine answers', () => engine.ask('GET', '/version').catch(() => undefined));
    await engine.#addImage(folder);
    return engine;
  }

  stop(): Promise<void> {
    return this.#stop();
  }

  async ask(method: string, path: string, body?: Buffer): Promise<unknown> {
    const asked = request({ socketPath: this.socket, method, path, agent: false });
    asked.end(body);
    const [response] = (await once(asked, 'response')) as [AsyncIterable<Buffer>];
    const pieces: Buffer[] = [];
    for await (const piece of response) pieces.push(piece);
    return JSON.parse(Buffer.concat(pieces).toString('utf8') || 'null') as unknown;
  }

  /** The ids of the containers that run, or of all of them. */
  async containers(all = false): Promise<string[]> {
    const found = (await this.ask('GET', `/containers/json?all=${all ? 1 : 0}`)) as { Id: string }[];
    return found.map(({ Id: id }) => id);
  }

  /** The first process of the container of a node, and the variables that it was given. */
  async insideOf(nodeId: string): Promise<{ pid: number; variables: string[] }> {
    const filters = JSON.stringify({ label: [`wirefarm.node=${nodeId}`] });
    const [found] = (await this.ask('GET', `/containers/json?filters=${encodeURIComponent(filters)}`)) as {
      Id: string;
    }[];
    const { State: state, Config: config } = (await this.ask('GET', `/containers/${found?.Id}/json`)) as {
      State: { Pid: number };
      Config: { Env: string[] };
    };
    return { pid: state.Pid, variables: config.Env };
  }

  /** How many containers stand still. */
  async paused(): Promise<number> {
    const found = (await this.ask('GET', '/containers/json')) as { State: string }[];
    return found.filter(({ State: state }) => state === 'paused').length;
  }

  async #addImage(folder: string): Promise<void> {
    const root = join(folder, 'root');
    for (const path of ['bin', 'etc', 'srv/kept']) mkdirSync(join(root, path), { recursive: true });
    copyFileSync('/bin/busybox', join(root, 'bin/busybox'));
    for (const name of ['sh', 'ping', 'cat', 'echo', 'ip', 'id', 'ls', 'env', 'hostname'])
      symlinkSync('busybox', join(root, 'bin', name));
    execFileSync('sh', [
      '-c',
      `echo 'root:x:0:0::/:/bin/sh' >${root}/etc/passwd; echo first >${root}/srv/kept/file`,
    ]);
    const tar = join(folder, 'image.tar');
    execFileSync('tar', ['-C', root, '-cf', tar, '.']);
    const query = new URLSearchParams({ fromSrc: '-', repo: 'wirefarm-test', tag: 'latest' });
    await this.ask('POST', `/images/create?${query.toString()}`, readFileSync(tar));
  }
}
