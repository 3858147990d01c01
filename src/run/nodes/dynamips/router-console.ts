/** The console of a router: a telnet server of Dynamips, which repeats the end of what it has printed to whoever connects. */
import type { Socket } from 'node:net';
import { TelnetConsole } from '../../consoles/telnet-client.js';
import type { Program } from '../../keeper/program.js';

/** Dynamips greets at its consoles with this. */
const GREETING = 'Connected to Dynamips VM';
const GREETING_END = 'Press ENTER to get the prompt.\r\n';
const GREETING_MS = 5000;
/** So much is repeated after the greeting, at once. */
const MOST_REPEATED = 4096;
const REPEATED_MS = 300;

/** Undefined when what answers is not Dynamips; the socket is closed then. */
export async function openRouterConsole(socket: Socket): Promise<TelnetConsole | undefined> {
  const console = new TelnetConsole(socket);
  if (await console.prints((output) => output.includes(GREETING), GREETING_MS)) return console;
  console.close();
  return undefined;
}

/**
 * Puts what an earlier server has read at the console of the program before what was printed since then. The keeper has all
 * of it for the next server.
 */
export async function rememberConsole(
  console: TelnetConsole,
  program: Pick<Program, 'remember' | 'remembered'>,
): Promise<void> {
  const earlier = Buffer.from(program.remembered);
  if (earlier.length > 0) {
    const wanted = Math.min(ownText(earlier).length, MOST_REPEATED);
    await console.prints(
      (output) => output.includes(GREETING_END) && ownText(output).length >= wanted,
      REPEATED_MS,
    );
    const later = withoutKnown(ownText(Buffer.from(console.output)), earlier);
    console.replaceOutput(Buffer.concat([earlier, later]));
    program.remember(later);
  } else program.remember(console.output);
  console.listen((bytes) => {
    program.remember(bytes);
  });
}

/** The rest of the text, without the greeting. */
function ownText(output: Buffer): Buffer {
  const at = output.indexOf(GREETING_END);
  return at === -1 ? output : output.subarray(at + GREETING_END.length);
}

/** The part of a text after the longest beginning with which the earlier one ends. */
function withoutKnown(text: Buffer, earlier: Buffer): Buffer {
  for (let length = Math.min(text.length, earlier.length, MOST_REPEATED); length > 0; length--) {
    if (earlier.subarray(-length).equals(text.subarray(0, length))) return text.subarray(length);
  }
  return text;
}
