/** A person with a keyboard and no pointer, who knows what is on a page by roles, names and words. */
import type { FileChooser, Page } from 'playwright-core';
import { eventually } from '../eventually.js';

/** The part of a browser that the person needs. */
export interface Keys {
  /** Presses a key, alone or with others: `Tab`, `g`, `Control+k`. */
  press(key: string): Promise<void>;
  type(text: string): Promise<void>;
  evaluate(expression: string): Promise<unknown>;
  has(role: string, name: string): Promise<boolean>;
  /** Presses the key, which opens the browser's own dialog, and chooses the file there. */
  choose(key: string, file: string): Promise<void>;
}

/** More stops than any page of the test has. */
const MOST_STOPS = 120;
const FOCUSED = `(() => {
  const { activeElement: element } = document;
  const name = element?.getAttribute('aria-label') ?? element?.labels?.[0]?.innerText ?? element?.innerText ?? '';
  return name.replace(/\\s+/g, ' ').trim();
})()`;

/** The button of the dialog, which `Enter` in any of its fields stands for. */
const MAY_BE_DONE = `document.querySelector('dialog[open] button:not([type]):enabled') !== null`;

export class Keyboard {
  readonly #keys: Keys;

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.#keys.press(key);
  }

  type(text: string): Promise<void> {
    return this.#keys.type(text);
  }

  /** Waits for something with this role and exactly this name. */
  async meet(role: string, name: string): Promise<void> {
    await this.#wait(`${role} ${name}`, () => this.#keys.has(role, name));
  }

  async miss(role: string, name: string): Promise<void> {
    await this.#wait(`no ${role} ${name}`, async () => !(await this.#keys.has(role, name)));
  }

  /** Waits for the words anywhere on the page. */
  async read(words: string): Promise<void> {
    await this.#wait(`the words ${words}`, async () => (await this.#shown()).includes(words));
  }

  /** Goes on by the key until the thing of this name has the focus. */
  async goTo(name: string, key = 'Tab'): Promise<void> {
    const stops: string[] = [];
    for (let stop = 0; stop < MOST_STOPS; stop++) {
      const focused = String(await this.#keys.evaluate(FOCUSED));
      if (focused === name) return;
      stops.push(focused);
      await this.#keys.press(key);
    }
    throw new Error(`${key} never comes to ${name}, but to ${stops.join(' | ').slice(0, 2000)}`);
  }

  /** Finds a page, a lab or a command by its name. */
  async find(name: string): Promise<void> {
    await this.press('Control+k');
    await this.meet('combobox', 'Name of a page, a lab or a command');
    await this.type(name);
    const isFirst = `document.querySelector('[role=option]')?.innerText.startsWith(${JSON.stringify(name)})`;
    await this.#wait(`${name} comes first`, async () => (await this.#keys.evaluate(isFirst)) === true);
    await this.press('Enter');
  }

  /** Fills a dialog, whose first field has the focus, and does what it is for. */
  async answer(dialog: string, text = ''): Promise<void> {
    await this.meet('dialog', dialog);
    await this.type(text);
    await this.#wait(`${dialog} may be done`, async () => (await this.#keys.evaluate(MAY_BE_DONE)) === true);
    await this.press('Enter');
    await this.miss('dialog', dialog);
  }

  async choose(key: string, file: string): Promise<void> {
    await this.#keys.choose(key, file);
  }

  async #shown(): Promise<string> {
    return String(await this.#keys.evaluate('document.body.innerText'));
  }

  async #wait(what: string, isSo: () => Promise<boolean>): Promise<void> {
    try {
      await eventually(what, async () => (await isSo()) || undefined);
    } catch {
      const focused = String(await this.#keys.evaluate(FOCUSED));
      throw new Error(
        `never happened: ${what}; ${focused} has the focus, the page shows ${await this.#shown()}`,
      );
    }
  }
}

/** The keys of Chromium. */
export function keysOf(page: Page): Keys {
  const choosers: FileChooser[] = [];
  // Listening only when the key is pressed may be too late.
  page.on('filechooser', (chooser) => choosers.push(chooser));
  return {
    press: (key) => page.keyboard.press(key),
    type: (text) => page.keyboard.type(text),
    evaluate: (expression) => page.evaluate(expression),
    has: async (role, name) =>
      (await page.getByRole(role as Parameters<Page['getByRole']>[0], { name, exact: true }).count()) > 0,
    choose: async (key, file) => {
      await page.keyboard.press(key);
      await (await eventually('the dialog for files', () => choosers.pop())).setFiles(file);
    },
  };
}
