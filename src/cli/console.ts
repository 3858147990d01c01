/** `wirefarm console`: the console of a node, in this terminal or through a pipe. */
import { once } from 'node:events';
import { finished, pipeline } from 'node:stream/promises';
import { Transform, type Duplex } from 'node:stream';
import { createWebSocketStream, WebSocket } from 'ws';
import { CommandError } from './command-error.js';
import { LAB_OPTIONS, labAndRest, parseLabWords, wrong } from './lab-command.js';
import { LabServer } from './lab-server.js';
import { Server } from './server.js';
import { serverAddress, type Environment, type ServerAddress } from './server-address.js';

const { json, ...OPTIONS } = LAB_OPTIONS;
/** Ctrl-], as telnet has it. */
const ESCAPE = 0x1d;
/** After the end of a pipe, the console has been silent for so long when all answers have come. */
const SILENCE_MS = 1000;
const CONNECT_LIMIT_MS = 15_000;

const HELP = [
  'Usage:',
  '  wirefarm console LAB/NODE [--url URL] [--ca FILE]',
  '      Connects this terminal to the console of a node, until Ctrl-]. It begins with what was printed last.',
  '      A pipe is typed into the console, and what is printed is written, until the console has been silent for a',
  "      second:  echo 'show ip' | wirefarm console lab/PC1",
  '',
].join('\n');

export async function openConsole(args: readonly string[], environment: Environment): Promise<void> {
  const { values, words } = parseLabWords('console', args, OPTIONS);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const [word = '', ...more] = words;
  const { lab: name, rest } = labAndRest(word);
  if (rest === undefined || more.length > 0) throw wrong('console', 'say which node: LAB/NODE');
  const address = serverAddress(values.url, environment, values.ca);
  const server = new Server(address);
  const labs = new LabServer(server);
  const lab = await labs.get(name);
  const node = (await labs.nodes(lab)).find((one) => one.name === rest);
  if (node === undefined) throw new CommandError(`there is no node ${rest} in the lab ${name}`);
  const socket = await connected(server, address, `/v2/projects/${lab.id}/nodes/${node.id}/console/ws`);
  await use(socket, rest);
}

async function connected(server: Server, address: ServerAddress, path: string): Promise<WebSocket> {
  const { authorization, ca } = address;
  const url = new URL(path, address.url);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(url, {
    headers: authorization === undefined ? {} : { authorization },
    handshakeTimeout: CONNECT_LIMIT_MS,
    ...(ca === undefined ? {} : { ca }),
  });
  const refused = new Promise<never>((_resolve, reject) => {
    socket.once('unexpected-response', (_request, response) => {
      server.refusal(response).then(reject, reject);
    });
  });
  try {
    await Promise.race([once(socket, 'open'), refused]);
    return socket;
  } catch (error) {
    throw error instanceof CommandError ? error : server.broken(error);
  }
}

/** Resolves when the person or the pipe has ended it. Throws CommandError when the server has. */
async function use(socket: WebSocket, name: string): Promise<void> {
  let cut: string | undefined;
  socket.once('close', (_code, reason: Buffer) => {
    cut = reason.toString() || 'the connection was closed';
  });
  const stream = createWebSocketStream(socket);
  const ends = process.stdin.isTTY ? byTerminal(stream, name) : byPipe(stream);
  try {
    await Promise.race([ends, printed(stream)]);
  } finally {
    process.stdin.destroy();
    stream.destroy();
  }
  if (cut !== undefined) throw new CommandError(`the console of ${name} ended: ${cut}`);
}

async function printed(stream: Duplex): Promise<void> {
  try {
    await pipeline(stream, process.stdout, { end: false });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // The reader of this program's output has gone, or the console was left.
    if (code !== 'EPIPE' && code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

/** Every key goes to the console, but for Ctrl-], which ends it. */
async function byTerminal(stream: Duplex, name: string): Promise<void> {
  const { stdin } = process;
  process.stderr.write(`${name}: Ctrl-] leaves the console\r\n`);
  stdin.setRawMode(true);
  try {
    const keys = new Transform({
      transform(bytes: Buffer, _encoding, done) {
        const end = bytes.indexOf(ESCAPE);
        if (end < 0) {
          done(null, bytes);
          return;
        }
        this.push(bytes.subarray(0, end));
        this.push(null);
        done();
      },
    });
    stdin.pipe(keys).pipe(stream, { end: false });
    await finished(keys, { writable: false });
  } finally {
    stdin.setRawMode(false);
    process.stderr.write('\n');
  }
}

async function byPipe(stream: Duplex): Promise<void> {
  process.stdin.pipe(stream, { end: false });
  await finished(process.stdin, { writable: false });
  for (;;) {
    const silence = AbortSignal.timeout(SILENCE_MS);
    try {
      await once(stream, 'data', { signal: silence });
    } catch (error) {
      if (silence.aborted) return;
      throw error;
    }
  }
}
