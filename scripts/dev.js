/**
 * `npm run dev`: builds and starts the server, and does both again when a source changes. It logs at `debug`; other
 * flags are handed to the server: `npm run dev -- --port 3090`. A build that fails leaves the server as it is.
 */
import { spawn, spawnSync } from 'node:child_process';
import { watch } from 'node:fs';
import { clearTimeout, setTimeout } from 'node:timers';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));

const SOURCES = ['src', 'workers'];
/** An editor writes several files at once. */
const SETTLE_MS = 150;
const flags = process.argv.slice(2);

let server;
let timer;
let isRestarting = false;

function start() {
  const args = ['--enable-source-maps', 'dist/src/server/main.js', '--log-level', 'debug', ...flags];
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  server = child;
  child.once('exit', (code) => {
    if (isRestarting) {
      isRestarting = false;
      start();
    } else {
      server = undefined;
      process.stdout.write(`The server has ended (${code ?? 'by a signal'}): a change starts it again\n`);
    }
  });
}

function restart() {
  if (spawnSync(process.execPath, ['scripts/build.js'], { stdio: 'inherit' }).status !== 0) return;
  if (server === undefined) start();
  else if (!isRestarting) {
    isRestarting = true;
    server.kill('SIGTERM');
  }
}

restart();
for (const folder of SOURCES) {
  watch(folder, { recursive: true }, (_, name) => {
    if (!name?.endsWith('.ts')) return;
    clearTimeout(timer);
    timer = setTimeout(restart, SETTLE_MS);
  });
}
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    isRestarting = false;
    if (server === undefined) process.exit();
    server.once('exit', () => process.exit());
    server.kill(signal);
  });
}
