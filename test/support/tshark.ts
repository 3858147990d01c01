/** Reads capture files with tshark. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Names the package of what is missing; false when nothing is. */
export function missingTshark(): string | false {
  const isThere = spawnSync('tshark', ['--version']).status === 0;
  return isThere ? false : 'the program tshark is missing: install the package tshark';
}

/** A row a packet, with the fields in the order given. Fails when tshark complains about the file. */
export function tsharkRows(
  file: Uint8Array,
  fields: readonly string[],
  filter = '',
  preferences: readonly string[] = [],
): string[][] {
  const chosen = fields.flatMap((field) => ['-e', field]);
  const set = preferences.flatMap((preference) => ['-o', preference]);
  const text = tshark(file, ['-T', 'fields', ...chosen, '-Y', filter, ...set]);
  return text === '' ? [] : text.split('\n').map((line) => line.split('\t'));
}

/** Everything that it knows, in words. */
export function tsharkText(file: Uint8Array): string {
  return tshark(file, ['-V']);
}

function tshark(file: Uint8Array, how: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'wirefarm-tshark-'));
  try {
    const path = join(folder, 'capture');
    writeFileSync(path, file);
    const { status, stdout, stderr } = spawnSync('tshark', ['-n', '-r', path, ...how], {
      encoding: 'utf8',
      maxBuffer: 256 * 1024 * 1024,
    });
    const complaints = stderr.replace(/^Running as user .*\n/m, '');
    if (status !== 0 || complaints !== '') throw new Error(`tshark (${status ?? 'killed'}): ${complaints}`);
    return stdout.replace(/\n$/, '');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
