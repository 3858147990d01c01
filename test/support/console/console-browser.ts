/** A browser that opens the console, and remembers what no page of it may do. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from 'playwright-core';
import { missingBrowser } from '../browser.js';
import { patience } from '../patience.js';
import type { Teardown } from '../scratch.js';
import type { ServerProcess } from '../server-process.js';

const PROGRAM = '/usr/bin/chromium';
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage'];
const VIEWPORT = { width: 1280, height: 720 };
const STEP_LIMIT_MS = patience(60_000);
/** The browser itself says so of each answer that is a refusal. */
const REFUSAL = /^Failed to load resource: the server responded with a status of 4\d\d/;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const STANDARDS = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'];
/** The rules of these standards that look at colours: nothing else is different in the other scheme. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];
/** Only violations are looked into, and they are told by their text, so that no selectors are made. */
const OPTIONS = { resultTypes: ['violations'], selectors: false };

/** Why a test with the console is to be skipped. */
export const missingConsoleBrowser = missingBrowser;

export interface ConsolePage {
  readonly page: Page;
  /** Messages of the browser, errors of scripts, reports of the policy, and requests to elsewhere. */
  readonly complaints: string[];
}

/** One browser for a file of tests, and one page at a time: to start a page takes a second of processor time. */
export class ConsoleBrowser {
  readonly #browser: Browser;
  #page: Page | undefined;
  #isSpecial = false;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  /** `more` are flags of Chromium. */
  static async start(t: Teardown, more: readonly string[] = []): Promise<ConsoleBrowser> {
    const browser = await chromium.launch({
      executablePath: PROGRAM,
      args: [...FLAGS, ...more],
      timeout: STEP_LIMIT_MS,
    });
    t.teardown(() => browser.close());
    return new ConsoleBrowser(browser);
  }

  /** Opens the address. The page that was open before ends, and nothing of it is known to this one. */
  async open(
    { url }: Pick<ServerProcess, 'url'>,
    address = '',
    options: BrowserContextOptions = {},
  ): Promise<ConsolePage> {
    const page = await this.#freshPage(url, options);
    const opened = { page, complaints: complaintsOf(page, url) };
    await page.goto(`${url}/${address}`);
    // Keys do nothing before the console knows who is there: then it has a menu, or asks for a password, or is a terminal.
    const terminal = page.getByRole('textbox', { name: /^Console of/ });
    await page.getByRole('navigation').or(page.getByLabel('Password')).or(terminal).first().waitFor();
    return opened;
  }

  async #freshPage(url: string, options: BrowserContextOptions): Promise<Page> {
    const wasSpecial = this.#isSpecial;
    const before = this.#page;
    this.#isSpecial = Object.keys(options).length > 0;
    if (before?.isClosed() === false && !wasSpecial && !this.#isSpecial) return forgotten(before, url);
    await before?.context().close();
    const context = await this.#browser.newContext({ viewport: VIEWPORT, ...options });
    context.setDefaultTimeout(STEP_LIMIT_MS);
    this.#page = await context.newPage();
    return this.#page;
  }
}

/** The page, which is now at an address of the server that is no page, with all that it was told and has kept undone. */
async function forgotten(page: Page, url: string): Promise<Page> {
  const context = page.context();
  for (const event of ['console', 'pageerror', 'request', 'response'] as const)
    page.removeAllListeners(event);
  for (const other of context.pages()) if (other !== page) await other.close();
  await page.unrouteAll();
  await page.goto(`${url}/livez`);
  await page.evaluate('localStorage.clear()');
  await context.clearCookies();
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  await page.setViewportSize(VIEWPORT);
  await page.mouse.move(0, 0);
  return page;
}

function complaintsOf(page: Page, url: string): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    const text = message.text();
    if (!REFUSAL.test(text)) complaints.push(`${message.type()}: ${text}`);
  });
  page.on('pageerror', (error) => complaints.push(String(error.stack)));
  page.on('request', (request) => {
    const asked = request.url();
    if (!asked.startsWith(`${url}/`) && !/^(blob|data):/.test(asked)) complaints.push(`asked ${asked}`);
  });
  return complaints;
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** The parts of the page, as it is now, that hinder people, in both schemes. */
export async function hindrances(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE);
  const found: string[] = [];
  for (const [colorScheme, rules] of [
    ['light', STANDARDS],
    ['dark', OF_COLOURS],
  ] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const options = JSON.stringify({ ...OPTIONS, runOnly: rules });
    const run = `axe.run(document, ${options}).then(({ violations }) => violations)`;
    const violations = (await page.evaluate(run)) as readonly Violation[];
    for (const { id, nodes } of violations)
      found.push(
        ...nodes.map(({ html, failureSummary }) => `${colorScheme} ${id}: ${html} ${failureSummary}`),
      );
  }
  return found;
}

/** Types into the field when it is there and takes text. */
export async function type(field: Locator, text: string): Promise<void> {
  await field.waitFor({ state: 'visible' });
  await field.fill(text);
}
