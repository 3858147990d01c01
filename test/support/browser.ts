/** A real browser, which shows a page and tells what is on it. */
import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { scratchFolder, type Teardown } from './scratch.js';

const BROWSER = 'chromium';
const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  '--disable-dev-shm-usage',
];

/** Why a test with a browser is to be skipped. */
export function missingBrowser(): string | false {
  return spawnSync(BROWSER, ['--version']).error === undefined
    ? false
    : `the program ${BROWSER} is missing: install the package ${BROWSER}`;
}

/** The text that the page shows when it is done. */
export async function shownPage(t: Teardown, url: string): Promise<string> {
  const browser = launch(t, url, ['--virtual-time-budget=10000', '--dump-dom']);
  let out = '';
  browser.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  await once(browser, 'close');
  return /<body>(.*)<\/body>/s.exec(out)?.[1]?.trim() ?? out;
}

/** Opens the page, and leaves it open until the test ends. */
export function openPage(t: Teardown, url: string): void {
  const browser = launch(t, url, ['--remote-debugging-port=0']);
  const closed = once(browser, 'close');
  t.teardown(async () => {
    browser.kill('SIGTERM');
    await closed;
  });
}

function launch(
  t: Teardown,
  url: string,
  flags: readonly string[],
): ChildProcessByStdio<null, Readable, null> {
  return spawn(BROWSER, [...FLAGS, ...flags, `--user-data-dir=${scratchFolder(t)}`, url], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}
