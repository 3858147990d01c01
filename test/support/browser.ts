/** A real browser, which shows a page and tells what is on it. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { scratchFolder, type Teardown } from './scratch.js';

const BROWSER = 'chromium';
const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  ...['--disable-dev-shm-usage', '--virtual-time-budget=10000', '--dump-dom'],
];

/** Why a test with a browser is to be skipped. */
export function missingBrowser(): string | false {
  return spawnSync(BROWSER, ['--version']).error === undefined
    ? false
    : `the program ${BROWSER} is missing: install the package ${BROWSER}`;
}

/** The text that the page shows when it is done. */
export async function shownPage(t: Teardown, url: string): Promise<string> {
  const browser = spawn(BROWSER, [...FLAGS, `--user-data-dir=${scratchFolder(t)}`, url], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let out = '';
  browser.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  await once(browser, 'close');
  return /<body>(.*)<\/body>/s.exec(out)?.[1]?.trim() ?? out;
}
