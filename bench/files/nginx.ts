/**
 * nginx as Debian has it, with WebDAV's PUT for uploads and sendfile for downloads. Its buffer for bodies is as large
 * as it makes it itself: with one of 1 MiB uploads were no faster. Nor does it
 * gather packets (tcp_nopush): with that a download was two thirds slower here.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { cpuSecondsOf } from '../traffic/cpu-seconds.js';
import type { FileServer } from './file-server.js';

const PROGRAM = '/usr/sbin/nginx';
const LOOK_EVERY_MS = 20;
const MOST_LOOKS = 250;

export class Nginx implements FileServer {
  readonly method = 'PUT';
  readonly folder: string;
  readonly #child: ChildProcess;
  readonly #port: number;

  private constructor(child: ChildProcess, port: number, folder: string) {
    this.#child = child;
    this.#port = port;
    this.folder = folder;
  }

  /**
   * Serves the files of a folder, which is made when it is missing; keeps its own, and what is on its way, in `home`.
   * Undefined when nginx is not installed, which is said.
   */
  static async start(home: string, folder = join(home, 'files')): Promise<Nginx | undefined> {
    if (!existsSync(PROGRAM)) {
      process.stderr.write('nginx is not installed (Debian package nginx): this is measured without it\n');
      return undefined;
    }
    mkdirSync(home, { recursive: true });
    mkdirSync(folder, { recursive: true });
    const port = await freePort();
    const settings = join(home, 'nginx.conf');
    writeFileSync(settings, settingsOf(home, folder, port));
    const child = spawn(PROGRAM, ['-p', home, '-e', join(home, 'error.log'), '-c', settings], {
      stdio: 'ignore',
    });
    const nginx = new Nginx(child, port, folder);
    for (let looks = 0; looks < MOST_LOOKS && child.exitCode === null; looks++) {
      if (await nginx.#answers()) return nginx;
      await setTimeout(LOOK_EVERY_MS);
    }
    const errors = readFileSync(join(home, 'error.log'), 'utf8');
    child.kill('SIGTERM');
    throw new Error(`nginx did not start: ${errors}`);
  }

  url(name: string): string {
    return `http://127.0.0.1:${this.#port}/${name}`;
  }

  cpuSeconds(): number {
    const pid = this.#child.pid ?? 0;
    const workers = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
    return [pid, ...workers].reduce((sum, process) => sum + cpuSecondsOf(process), 0);
  }

  /** There is nothing to be done. */
  settled(): Promise<void> {
    return Promise.resolve();
  }

  remove(names: readonly string[]): Promise<void> {
    for (const name of names) rmSync(join(this.folder, name));
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }

  async #answers(): Promise<boolean> {
    const socket = connect(this.#port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return true;
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  }
}

function settingsOf(home: string, folder: string, port: number): string {
  const others = ['proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${home}/${name};`);
  return `
daemon off;
user ${userInfo().username};
worker_processes auto;
pid ${home}/nginx.pid;
events { worker_connections 512; }
http {
  access_log off;
  default_type application/octet-stream;
  sendfile on;
  keepalive_requests 1000000;
  client_max_body_size 0;
  client_body_temp_path ${home}/body;
  ${others.join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    root ${folder};
    location / {
      dav_methods PUT;
      create_full_put_path on;
    }
  }
}
`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
