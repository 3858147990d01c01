/**
 * The settings of a server that runs. They are read again, whole or not at all: a file that cannot be used changes
 * nothing. Settings that are live count from then on; the others stay as the server was started with, and are named.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { refusals } from '../base/errors/errors.js';
import { secretOf } from '../base/disk/secret-file.js';
import type { TaskPool } from '../base/threads/task-pool.js';
import type { CertificatePaths, CertificateTasks } from '../operations/certificate-tasks.js';
import type { SettingsReload } from '../operations/settings-reload.js';
import type { SettingsTasks } from '../operations/settings-tasks.js';
import { ConfigError } from './config-error.js';
import {
  passwordFileOf,
  passwordUnreadable,
  type Config,
  type GivenSettings,
  type StartSettings,
} from './config.js';
import { checkGuarded } from './reach.js';
import { LIVE_SETTINGS } from './settings.js';
import { LARGEST_SETTINGS_FILE, unreadable } from './settings-file.js';

interface LiveSettingsOptions {
  readonly files: Pick<TaskPool<CertificateTasks & SettingsTasks>, 'run'>;
  readonly hasUsers: () => boolean;
  readonly log: Logger;
}

/** Whether the server is for others is decided when it starts, and whether it speaks TLS. */
const OF_THE_REACH: readonly string[] = ['public-url', 'trusted-proxies'];
const OF_TLS: readonly string[] = ['tls-cert', 'tls-key'];

export class LiveSettings implements SettingsReload {
  readonly #start: StartSettings;
  readonly #options: LiveSettingsOptions;
  readonly #followers: ((config: Config) => unknown)[] = [];
  #config: Config;
  #given: GivenSettings;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(start: StartSettings, options: LiveSettingsOptions) {
    this.#start = start;
    this.#options = options;
    this.#config = start.config;
    this.#given = start.given;
  }

  /** The settings that count now. */
  get config(): Config {
    return this.#config;
  }

  /** The follower gets the settings that count whenever they have been read again; it is waited for, and must not fail. */
  follow(follower: (config: Config) => unknown): void {
    this.#followers.push(follower);
  }

  /** Refuses (409) settings that cannot be used. Those that ask at the same time are answered in turn. */
  reload(): ReturnType<SettingsReload['reload']> {
    const reading = this.#reading.then(() => this.#reload());
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  async #reload(): ReturnType<SettingsReload['reload']> {
    const { log } = this.#options;
    try {
      const wanted = await this.#wanted();
      const given = this.#live(wanted);
      const changed = differing(this.#given, given);
      this.#config = this.#start.configOf(given);
      this.#given = given;
      for (const follower of this.#followers) await follower(this.#config);
      const atStart = differing(wanted, given);
      log.info({ changed, atStart }, 'the settings were read again');
      return { changed, at_start: atStart };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      log.error({ problem: error.message }, 'the settings cannot be used: the former ones stay');
      throw refusals.settingsRefused(error.message);
    }
  }

  /** The settings of another start of this server. Throws ConfigError when it could not start. */
  async #wanted(): Promise<GivenSettings> {
    const { file } = this.#start;
    const again = this.#start.again(
      file && (await this.#read(file, LARGEST_SETTINGS_FILE, (reason) => unreadable(file, reason))),
    );
    const secret = passwordFileOf(again);
    const given = secret === undefined ? again : { ...again, password: await this.#password(secret) };
    const config = this.#start.configOf(given);
    checkGuarded(config, this.#options.hasUsers());
    await this.#checkCertificate(config.certificate);
    return given;
  }

  /** The settings that count now, with those that are wanted and live. Throws ConfigError. */
  #live(wanted: GivenSettings): GivenSettings {
    const mixed = (names: readonly string[]): GivenSettings => {
      return { ...this.#given, ...Object.fromEntries(names.map((name) => [name, wanted[name] ?? ''])) };
    };
    const config = this.#start.configOf(mixed(LIVE_SETTINGS));
    const isKept = (name: string): boolean =>
      (OF_THE_REACH.includes(name) && config.isForOthers !== this.#config.isForOthers) ||
      (OF_TLS.includes(name) &&
        (config.certificate === undefined) !== (this.#config.certificate === undefined));
    return mixed(LIVE_SETTINGS.filter((name) => !isKept(name)));
  }

  async #password(file: string): Promise<string> {
    const text = await this.#read(file, LARGEST_SETTINGS_FILE, (reason) => passwordUnreadable(file, reason));
    try {
      return secretOf(text);
    } catch (error) {
      throw new ConfigError(passwordUnreadable(file, error), { cause: error });
    }
  }

  /** Throws ConfigError. */
  async #read(path: string, limit: number, problemOf: (reason: string) => string): Promise<string> {
    const found = await this.#options.files.run('readSettings', { path, limit });
    if ('text' in found) return found.text;
    throw new ConfigError(problemOf(found.reason));
  }

  /** Throws ConfigError for other files that are no pair. The present ones have a watch of their own. */
  async #checkCertificate(paths: CertificatePaths | undefined): Promise<void> {
    if (paths === undefined || isDeepStrictEqual(paths, this.#config.certificate)) return;
    const { problem } = await this.#options.files.run('readCertificate', paths);
    if (problem !== undefined) throw new ConfigError(problem);
  }
}

function differing(some: GivenSettings, others: GivenSettings): string[] {
  return Object.keys(some).filter((name) => some[name] !== others[name]);
}
