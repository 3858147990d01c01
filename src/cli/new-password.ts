/** A password that is given to the program: in a file, by the standard input, or typed. Command lines can be read by others. */
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { readSecret, secretOf } from '../base/disk/secret-file.js';
import { CommandError } from './command-error.js';

const LONGEST_INPUT = 64 * 1024;

/** Asks twice when somebody types. Throws CommandError. */
export async function newPassword(file: string | undefined): Promise<string> {
  try {
    if (file !== undefined) return readSecret(file);
    if (!process.stdin.isTTY) return secretOf(await allInput());
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`the password cannot be read from ${file ?? 'the standard input'}: ${reason}`, {
      cause: error,
    });
  }
  return typedTwice();
}

async function allInput(): Promise<string> {
  let text = '';
  for await (const part of process.stdin.setEncoding('utf8') as AsyncIterable<string>) {
    text += part;
    if (text.length > LONGEST_INPUT) break;
  }
  return text;
}

/** Reads a line from the terminal twice, without showing it. */
async function typedTwice(): Promise<string> {
  const nowhere = new Writable({
    write: (_bytes, _encoding, done) => {
      done();
    },
  });
  // The terminal shows nothing from here on, so no question comes before.
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    const typed = await answer(lines, 'Password: ');
    if ((await answer(lines, 'The same again: ')) === typed) return typed;
    throw new CommandError('these were two different passwords');
  } finally {
    lines.close();
  }
}

async function answer(lines: Interface, question: string): Promise<string> {
  const ended = new AbortController();
  const end = (): void => {
    ended.abort();
  };
  lines.once('close', end);
  process.stderr.write(question);
  try {
    const [line] = (await once(lines, 'line', { signal: ended.signal })) as [string];
    return line;
  } catch (error) {
    throw new CommandError('no password was typed', { cause: error });
  } finally {
    lines.off('close', end);
    process.stderr.write('\n');
  }
}
