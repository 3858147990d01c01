/** The script that Wireshark finds. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CONFIG_SENTENCES, DLT_SENTENCES } from '../../src/cli/extcap-sentences.js';
import { cli } from '../support/cli.js';
import { scratchFolder, type Teardown } from '../support/scratch.js';

const INSTALL = ['extcap', '--install'];

/** A folder with a program tshark that knows these folders; other programs are not found there. */
function tsharkOf(t: Teardown, folders: string): string {
  const folder = scratchFolder(t);
  writeFileSync(join(folder, 'tshark'), `#!/bin/sh\nprintf '${folders}'\n`);
  chmodSync(join(folder, 'tshark'), 0o755);
  return folder;
}

void t.test('the script answers what is the same for all by itself, and runs the program', async (t) => {
  const folder = join(scratchFolder(t), "it's", 'new');
  const there = 'http://127.0.0.1:1/';
  const { code, output } = await cli(t, [...INSTALL, '--folder', folder, '--url', there]);
  const path = join(folder, 'wirefarm');
  t.match({ code, output }, { code: 0, output: `Wrote ${path} for ${there}.\n` });
  const alone = { encoding: 'utf8', env: { PATH: '' } } as const;
  const run = (...args: string[]): string => execFileSync(path, args, alone);
  t.equal(run('--extcap-config', '--extcap-interface', 'x'), `${CONFIG_SENTENCES.join('\n')}\n`);
  t.equal(run('--extcap-dlts', '--extcap-interface', 'x'), `${DLT_SENTENCES.join('\n')}\n`);
  t.match(run('--extcap-interfaces'), /^extcap \{version=/);
  const ask = ['--extcap-capture-filter', 'icmp', '--extcap-interface'];
  const from = 'wirefarm-00000000-0000-4000-8000-000000000000-all';
  t.match(spawnSync(path, [...ask, from], alone).stderr, 'no server answers at http://127.0.0.1:1 (');
  const elsewhere = { ...alone, env: { WIREFARM_URL: 'http://127.0.0.1:2' } };
  t.match(spawnSync(path, [...ask, from], elsewhere).stderr, 'at http://127.0.0.1:2 (');
});

void t.test('it is written over', async (t) => {
  const folder = scratchFolder(t);
  writeFileSync(join(folder, 'wirefarm'), 'written before', { mode: 0o600 });
  t.match(await cli(t, [...INSTALL, '--folder', folder]), { code: 0 });
  t.notMatch(readFileSync(join(folder, 'wirefarm'), 'utf8'), /written before|WIREFARM_URL/);
  t.equal(statSync(join(folder, 'wirefarm')).mode & 0o777, 0o755);
});

void t.test('it goes where tshark says, or else where Wireshark looks since 4.2', async (t) => {
  const home = scratchFolder(t);
  const where = async (tshark: string): Promise<string | undefined> => {
    const { output } = await cli(t, INSTALL, { HOME: home, PATH: tshark, WIREFARM_URL: '' });
    return /^Wrote (.*)\.\n/.exec(output)?.[1];
  };
  const settings = `Personal configuration:\\t${home}/cfg\\n`;
  const own = `Personal Extcap path:\\t${home}/own\\n`;
  t.equal(await where(tsharkOf(t, settings)), `${home}/cfg/extcap/wirefarm`);
  t.equal(await where(tsharkOf(t, `${settings}${own}Extcap path:\\t/usr\\n`)), `${home}/own/wirefarm`);
  t.equal(await where(scratchFolder(t)), `${home}/.local/lib/wireshark/extcap/wirefarm`);
});

void t.test('a folder that cannot be written and an address that is none are told', async (t) => {
  const folder = scratchFolder(t);
  mkdirSync(join(folder, 'wirefarm'));
  t.match(await cli(t, [...INSTALL, '--folder', folder]), {
    code: 1,
    errors: /choose a folder with --folder/,
  });
  t.match(await cli(t, [...INSTALL, '--url', 'lab']), { code: 2, errors: /'lab' is no address/ });
});
