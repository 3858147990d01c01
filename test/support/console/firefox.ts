/** Firefox ESR, driven over WebDriver BiDi: it is started with an empty profile, and ends with the test. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { WebSocket } from 'ws';
import { eventually } from '../eventually.js';
import { patience } from '../patience.js';
import { scratchFolder, type Teardown } from '../scratch.js';

const PROGRAM = 'firefox-esr';
const LISTENS = /WebDriver BiDi listening on (ws:\S+)/;
const STEP_LIMIT_MS = patience(60_000);
const VIEWPORT = { width: 1280, height: 720 };
/** Tells the test of each report of the policy, also of those that come before any script of the page. */
const REPORTER = `(report) => addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) =>
  report('policy: ' + violatedDirective + ' ' + blockedURI + ' ' + sourceFile))`;
/** Puts a text into the field among the elements, or chooses an option there: the page hears of it as from somebody who types. */
const FILL = `(text, ...elements) => {
  const field = elements.find((element) => element.matches(':is(input, select, textarea):enabled'));
  if (field === undefined) return false;
  const option = [...(field.options ?? [])].find(({ label }) => label === text);
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, option?.value ?? text);
  for (const name of ['input', 'change']) field.dispatchEvent(new Event(name, { bubbles: true }));
  return true;
}`;
const SHOW = `(element) => {
  element.scrollIntoView({ block: 'nearest' });
  return !element.matches(':disabled');
}`;
/** More things have the same name as a field nowhere. */
const MOST_NAMESAKES = 8;

type Json = Readonly<Record<string, unknown>>;

/** A place on the page: something with a role and exactly this name, or a point. */
export type Target = readonly [role: string, name: string] | { readonly x: number; readonly y: number };

/** Why a test with this browser is to be skipped. */
export function missingFirefox(): string | false {
  return spawnSync(PROGRAM, ['--version']).error === undefined
    ? false
    : `the program ${PROGRAM} is missing: install the package ${PROGRAM}`;
}

export class Firefox {
  /** Errors and warnings of scripts, reports of the policy, and requests to elsewhere. */
  readonly complaints: string[] = [];
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (answer: Json) => void>();
  #id = 0;
  #context = '';

  private constructor(socket: WebSocket, url: string) {
    this.#socket = socket;
    socket.on('message', (data: Buffer) => {
      const answer = JSON.parse(data.toString()) as Json;
      if (typeof answer['id'] === 'number') {
        this.#waiting.get(answer['id'])?.(answer);
        this.#waiting.delete(answer['id']);
      } else {
        const { method, params } = answer as { method: string; params: Json };
        this.#hear(method, params, url);
      }
    });
  }

  /** Opens the server of this URL, whose name is that of this host, with any certificate. */
  static async open(t: Teardown, url: string): Promise<Firefox> {
    const profile = scratchFolder(t);
    const { hostname } = new URL(url);
    writeFileSync(join(profile, 'user.js'), `user_pref('network.dns.localDomains', '${hostname}');\n`);
    const flags = ['--headless', '--no-remote', '--remote-debugging-port', '0', '--profile', profile];
    const browser = spawn(PROGRAM, [...flags, 'about:blank'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, HOME: profile },
    });
    const closed = once(browser, 'close');
    t.teardown(async () => {
      browser.kill('SIGKILL');
      await closed;
    });
    let place = '';
    for await (const line of createInterface(browser.stderr)) {
      place = LISTENS.exec(line)?.[1] ?? '';
      if (place !== '') break;
    }
    browser.stderr.resume();
    const socket = new WebSocket(`${place}/session`);
    await once(socket, 'open');
    const firefox = new Firefox(socket, url);
    await firefox.#begin(`${url}/`);
    return firefox;
  }

  async go(address: string): Promise<void> {
    await this.#ask('browsingContext.navigate', { context: this.#context, url: address, wait: 'complete' });
  }

  async evaluate(expression: string): Promise<unknown> {
    const { result } = await this.#ask('script.evaluate', {
      expression,
      target: { context: this.#context },
      awaitPromise: true,
    });
    return (result as Json)['value'];
  }

  /** Waits until the page has something with this role and exactly this name. */
  async meet(role: string, name: string): Promise<void> {
    await eventually(
      `${role} ${name}`,
      async () => (await this.#find({ role, name })).length > 0 || undefined,
    );
  }

  /** Waits for the words anywhere on the page. */
  async read(words: string): Promise<void> {
    await eventually(
      `the words ${words}`,
      async () => String(await this.evaluate('document.body.innerText')).includes(words) || undefined,
    );
  }

  /** Presses the button of the pointer where this is, when it may be pressed. */
  async click(target: Target): Promise<void> {
    const origin = 'x' in target ? {} : { origin: { type: 'element', element: await this.#ready(target) } };
    const { x, y } = 'x' in target ? target : { x: 0, y: 0 };
    const actions = [
      { type: 'pointerMove', x: Math.round(x), y: Math.round(y), ...origin },
      { type: 'pointerDown', button: 0 },
      { type: 'pointerUp', button: 0 },
    ];
    await this.#perform('pointer', actions);
  }

  /** Types the text where the focus is. */
  async type(text: string): Promise<void> {
    await this.#perform(
      'key',
      text.split('').flatMap((value) => [
        { type: 'keyDown', value },
        { type: 'keyUp', value },
      ]),
    );
  }

  /** Fills the field of this name, which may be one for passwords: those have no role. */
  async fill(name: string, text: string): Promise<void> {
    await eventually(`the field ${name}`, async () => {
      const elements = await this.#find({ name }, MOST_NAMESAKES);
      return (await this.#call(FILL, [{ type: 'string', value: text }, ...elements])) === true || undefined;
    });
  }

  async #begin(address: string): Promise<void> {
    await this.#ask('session.new', { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } });
    const { contexts } = await this.#ask('browsingContext.getTree', {});
    this.#context = String((contexts as Json[])[0]?.['context']);
    await this.#ask('session.subscribe', {
      events: ['log.entryAdded', 'network.beforeRequestSent', 'script.message'],
    });
    await this.#ask('script.addPreloadScript', {
      functionDeclaration: REPORTER,
      arguments: [{ type: 'channel', value: { channel: 'policy' } }],
    });
    await this.#ask('browsingContext.setViewport', { context: this.#context, viewport: VIEWPORT });
    await this.go(address);
  }

  async #perform(type: 'pointer' | 'key', actions: readonly Json[]): Promise<void> {
    await this.#ask('input.performActions', {
      context: this.#context,
      actions: [{ type, id: type, actions }],
    });
  }

  async #find(value: Json, most = 1): Promise<readonly Json[]> {
    const { nodes } = await this.#ask('browsingContext.locateNodes', {
      context: this.#context,
      locator: { type: 'accessibility', value },
      maxNodeCount: most,
    });
    return (nodes as Json[]).map(({ sharedId }) => ({ sharedId }));
  }

  /** Waits until it can be used, and brings it to where it is seen. */
  async #ready([role, name]: readonly [string, string]): Promise<Json> {
    return eventually(`${role} ${name} can be used`, async () => {
      const [element] = await this.#find({ role, name });
      return element !== undefined && (await this.#call(SHOW, [element])) === true ? element : undefined;
    });
  }

  async #call(functionDeclaration: string, args: readonly Json[]): Promise<unknown> {
    const { result } = await this.#ask('script.callFunction', {
      functionDeclaration,
      arguments: args,
      target: { context: this.#context },
      awaitPromise: false,
    });
    return (result as Json | undefined)?.['value'];
  }

  #hear(method: string, params: Json, url: string): void {
    if (method === 'log.entryAdded')
      this.complaints.push(`${String(params['level'])}: ${String(params['text'])}`);
    if (method === 'script.message') this.complaints.push(String((params['data'] as Json)['value']));
    if (method === 'network.beforeRequestSent') {
      const asked = String((params['request'] as Json)['url']);
      const isOwn = asked.startsWith(`${url}/`) || asked.startsWith(`${url.replace('http', 'ws')}/`);
      if (!isOwn && !/^(about|blob|data):/.test(asked)) this.complaints.push(`asked ${asked}`);
    }
  }

  async #ask(method: string, params: Json): Promise<Json> {
    const id = ++this.#id;
    const answered = new Promise<Json>((resolve, reject) => {
      const hangs = setTimeout(() => {
        reject(new Error(`${method} was not answered`));
      }, STEP_LIMIT_MS);
      this.#waiting.set(id, (answer) => {
        clearTimeout(hangs);
        resolve(answer);
      });
    });
    this.#socket.send(JSON.stringify({ id, method, params }));
    const answer = await answered;
    if (answer['type'] !== 'success')
      throw new Error(`${method}: ${String(answer['error'])}: ${String(answer['message'])}`);
    return answer['result'] as Json;
  }
}
