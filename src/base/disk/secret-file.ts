/** A file that holds a password: its first line, which is all of it. */
import { closeSync, openSync, readSync } from 'node:fs';

export const LONGEST_SECRET = 1024;

/** Returns the password. Throws when the file cannot be read, is empty, or is more than a password. */
export function readSecret(path: string): string {
  const file = openSync(path, 'r');
  try {
    // One octet for the end of the line, and one that tells that there is more.
    const bytes = Buffer.alloc(LONGEST_SECRET + 2);
    const length = readSync(file, bytes);
    return secretOf(bytes.subarray(0, length).toString());
  } finally {
    closeSync(file);
  }
}

/** Returns the password that a text is, without the end of its line. Throws for a text that is none. */
export function secretOf(text: string): string {
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw new Error('it is empty');
  if (secret.length > LONGEST_SECRET || secret.includes('\n')) {
    throw new Error(`it is more than one line of ${LONGEST_SECRET} characters`);
  }
  return secret;
}
