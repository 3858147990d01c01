/** The server as npm starts it, and how it ends with npm. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { eventually } from '../../support/eventually.js';
import { scratchFolder } from '../../support/scratch.js';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** `npm start` in a process group of its own; resolves when the server listens. */
async function npmStart(t: Test): Promise<{ npm: ChildProcess; server: number; closed: Promise<unknown> }> {
  const npm = spawn('npm', ['start', '--', '--port', '0', '--data', scratchFolder(t)], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(npm, 'close');
  t.teardown(() => {
    if (npm.exitCode === null && npm.signalCode === null) process.kill(-(npm.pid ?? 0), 'SIGKILL');
  });
  const started = once(createInterface({ input: npm.stderr }), 'line') as Promise<[string]>;
  let pid: number | undefined;
  createInterface({ input: npm.stderr }).on('line', (line) => {
    if (line.includes('"msg":"started"')) pid = (JSON.parse(line) as { pid: number }).pid;
  });
  await started;
  const server = await eventually('the server has started', () => pid);
  return { npm, server, closed };
}

void t.test('npm start ends cleanly when npm is told to', async (t) => {
  const { npm, server, closed } = await npmStart(t);
  process.kill(npm.pid ?? 0, 'SIGTERM');
  await closed;
  await eventually('the server is gone', () => (isAlive(server) ? undefined : true));
  t.notOk(isAlive(server), 'no process is left');
});

void t.test('npm start ends cleanly at one Ctrl-C, which reaches the whole group', async (t) => {
  const { npm, server, closed } = await npmStart(t);
  process.kill(-(npm.pid ?? 0), 'SIGINT');
  const [code] = (await closed) as [number | null];
  t.equal(code, 0);
  t.notOk(isAlive(server), 'no process is left');
});
