/**
 * The configuration of a server: the only reader of flags and environment. A flag wins over its variable, a
 * variable over the file of settings, that over the default. `--data` is the root of everything kept on disk; `--projects`, `--images`,
 * `--appliances` and `--state` may lie elsewhere, so that existing folders can be served in place.
 */
import type { BlockList } from 'node:net';
import type { EtcdAddress } from '../base/store/etcd/etcd-address.js';
import { readSecret } from '../base/disk/secret-file.js';
import type { CertificatePaths } from '../operations/certificate-tasks.js';
import type { Rates } from '../http/rate-limits.js';
import type { SystemdWishes } from '../operations/systemd.js';
import type { DefaultLimits } from '../lab/quotas/resources.js';
import type { EndRules } from '../operations/end-times/end-rules.js';
import type { ProjectLimits } from '../run/keeper/messages.js';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ConfigError } from './config-error.js';
import { etcdFilePaths, type EtcdFilePaths } from './etcd-files.js';
import { checkReach, isForOthers, udpNetworks } from './reach.js';
import { OPTION_LIST, SETTINGS, variableOf, type Settings } from './settings.js';
import { parseSettings, settingsTextOf } from './settings-file.js';

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly data: string;
  readonly projects: string;
  readonly state: string;
  /** The etcd that has the records; undefined when the state folder has them. */
  readonly farm: EtcdAddress | undefined;
  readonly farmAccess: EtcdFilePaths;
  /** Where the other servers of the farm reach this one; undefined when it has the farm to itself. */
  readonly advertise: string | undefined;
  /** So many servers of the farm have an image before its upload is answered. */
  readonly imageCopies: number;
  /** The address of this host between hosts; undefined leaves it to the kernel. */
  readonly tunnelAddress: string | undefined;
  readonly images: string;
  readonly appliances: string;
  /** The folder of a built web UI. */
  readonly webUi: string | undefined;
  /** The page at the root of the server. */
  readonly startPage: 'console' | 'web-ui';
  /** The folder of resumable uploads, which may take days. */
  readonly uploads: string;
  /** Whether the server only tells what its start would do to the store. */
  readonly checksStore: boolean;
  /** Whether an upload is on the disk before it is answered. */
  readonly syncsFiles: boolean;
  /** Whether the group of the server's user may read images and projects. */
  readonly groupAccess: boolean;
  readonly local: boolean;
  readonly gns3Version: string;
  readonly credentials: { readonly user: string; readonly password: string } | undefined;
  /** Whether everybody who can reach the server may use it. */
  readonly isOpen: boolean;
  /** Whether the programs of nodes are confined, where the server has the privilege. */
  readonly confinesPrograms: boolean;
  /** Whether the programs of nodes may run with the rights of the server although others can reach it. */
  readonly allowsUnconfined: boolean;
  /** How long the programs of nodes live without a server. */
  readonly keepsNodesSeconds: number;
  /** Whether the keeper of the programs is a service, which the server awaits and never starts. */
  readonly hasKeeperService: boolean;
  /** Systemd, if it has started this server, wants to hear this. */
  readonly systemd: SystemdWishes;
  /** Whether clients may add options to QEMU machines that reach the host. */
  readonly allowsUnsafeOptions: boolean;
  /** Whether virtual machines run on the processor itself. */
  readonly kvm: 'auto' | 'require' | 'off';
  /** The path of the socket of the Docker engine, or of podman's service. */
  readonly dockerSocket: string;
  /** Whether containers have all rights, as stock labs expect, or only those that networks need. */
  readonly dockerPrivileges: 'all' | 'fewer';
  /** Names of this server that it cannot know by itself. */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** The paths of the certificate, if the server speaks TLS. */
  readonly certificate: CertificatePaths | undefined;
  /** The port at which clients without TLS are sent to the other one. */
  readonly redirectPort: number | undefined;
  /** The URL by which clients know this server, when it is another than that at which it listens. */
  readonly publicUrl: URL | undefined;
  /** The proxies whose word about their clients counts. */
  readonly trustedProxies: BlockList;
  /** Whether other hosts can reach the server. */
  readonly isForOthers: boolean;
  readonly maxJsonBody: number;
  /** The first and the last UDP port that is given out. */
  readonly udpPorts: readonly [first: number, last: number];
  /** The first and the last TCP port at which consoles of nodes listen. */
  readonly consolePorts: readonly [first: number, last: number];
  /** The address at which consoles of nodes listen, when somebody has said so. */
  readonly consoleHost: string | undefined;
  /** The clients of consoles besides this host; `auto` is everybody for a server without users. */
  readonly consoleNetworks: BlockList | 'any' | 'auto';
  /** Where UDP attachments may lead; undefined is anywhere. */
  readonly nioNetworks: BlockList | undefined;
  /** The interfaces of the host that ports may be attached to. */
  readonly nioInterfaces: ReadonlySet<string>;
  /** Whether ATM switches drop cells with a wrong header error control, instead of mending it. */
  readonly refusesBadHec: boolean;
  readonly quotas: DefaultLimits;
  readonly endRules: EndRules;
  readonly projectLimits: ProjectLimits;
  /** Limits of captures in bytes: the share of one project, and the room of the disk that stays free. */
  readonly captureQuota: number;
  readonly captureFloor: number;
  /** So many backups are kept; 0 keeps all. */
  readonly keepsBackups: number;
  /** Bytes of the disk that uploads, imports and snapshots leave free; undefined is the usual floor. */
  readonly uploadFloor: number | undefined;
  /** Bytes of the disk of projects; nodes are suspended when less is free. Undefined is the usual floor. */
  readonly guestFloor: number | undefined;
  /** Finished captures that are older are deleted; 0 keeps all. */
  readonly captureKeepDays: number;
  /** Whether changes are audited also when there are no users. */
  readonly isAudited: boolean;
  /** Whether changes are refused while the audit cannot be written. */
  readonly needsAudit: boolean;
  /** The file that has the lines of requests; undefined when the log has them. */
  readonly accessLog: string | undefined;
  /** The share of the requests that only read that is logged, as one of so many; 0 logs none. */
  readonly accessLogSample: number;
  /** The requests that one caller may send in a second. */
  readonly rates: Rates;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
}

/** The texts of all settings, by their names. */
export type GivenSettings = Readonly<Record<string, string>>;

/** The settings of a start, and a way to read them again. */
export interface StartSettings {
  readonly config: Config;
  readonly given: GivenSettings;
  /** The path of the file of settings. */
  readonly file: string | undefined;
  /** Reads all again, the file with this text, but not the password of a file. Throws ConfigError. */
  readonly again: (text: string | undefined) => GivenSettings;
  /** Throws ConfigError. */
  readonly configOf: (given: GivenSettings) => Config;
}

/** The flags of `wirefarm doctor --bundle`. */
export interface BundleWishes {
  readonly bundle: string;
  readonly log: string | undefined;
  readonly url: string | undefined;
}

type Command =
  | { readonly run: 'serve'; readonly config: Config; readonly start: StartSettings }
  | {
      readonly run: 'doctor';
      readonly config: Config;
      readonly given: GivenSettings;
      readonly isJson: boolean;
      /** Undefined when the result is only told. */
      readonly wishes: BundleWishes | undefined;
    }
  | { readonly run: 'help' }
  | { readonly run: 'version' };

const MEBI = 1024 * 1024;

/** Reads the command line, the environment and the file of settings. Throws ConfigError. */
export function readCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const examines = args[0] === 'doctor';
  const flags = examines
    ? parseFlags(args.slice(1), { json: 'boolean', bundle: 'string', log: 'string', url: 'string' })
    : parseFlags(args);
  if (flags['help'] === true) return { run: 'help' };
  if (flags['version'] === true) return { run: 'version' };

  const path = String(flags['config'] ?? environment[variableOf('config')] ?? '');
  const file = path === '' ? undefined : resolve(path);
  const again = (text: string | undefined): GivenSettings => {
    const written = file === undefined || text === undefined ? undefined : parseSettings(file, text);
    const given = OPTION_LIST.map(({ name, fallback }): [string, string] => {
      const own = flags[name] ?? environment[variableOf(name)];
      return [name, String(own ?? written?.get(name)?.text ?? fallback)];
    });
    return checked(Object.fromEntries(given), (name) => {
      const line = written?.get(name)?.line;
      const isOwn = flags[name] !== undefined || environment[variableOf(name)] !== undefined;
      return line === undefined || isOwn ? '' : `${file}:${line}: `;
    });
  };
  const configOf = (given: GivenSettings): Config => newConfig(SETTINGS.parse(given), environment);
  const first = again(file === undefined ? undefined : settingsTextOf(file));
  const secret = passwordFileOf(first);
  const given = secret === undefined ? first : { ...first, password: passwordIn(secret) };
  const start = { config: configOf(given), given, file, again, configOf };
  const { config } = start;
  return examines
    ? { run: 'doctor', config, given, isJson: flags['json'] === true, wishes: bundleWishes(flags) }
    : { run: 'serve', config, start };
}

function bundleWishes(flags: ReturnType<typeof parseFlags>): BundleWishes | undefined {
  const textOf = (name: string): string | undefined => {
    const text = flags[name];
    return typeof text === 'string' ? text : undefined;
  };
  const [bundle, log, url] = [textOf('bundle'), textOf('log'), textOf('url')];
  if (bundle === undefined && (log ?? url) !== undefined)
    throw new ConfigError('--log and --url go with --bundle');
  if (bundle === '') throw new ConfigError('--bundle needs the name of a file');
  return bundle === undefined ? undefined : { bundle, log, url };
}

/** Throws ConfigError for a text that is not right. `placeOf` is where the setting stands. */
function checked(given: GivenSettings, placeOf: (name: string) => string): GivenSettings {
  const parsed = SETTINGS.safeParse(given);
  if (parsed.success) return given;
  const issue = parsed.error.issues[0];
  const name = String(issue?.path[0]);
  throw new ConfigError(`${placeOf(name)}--${name} (${variableOf(name)}): ${issue?.message ?? 'invalid'}`);
}

function parseFlags(
  args: readonly string[],
  more: Readonly<Record<string, 'boolean' | 'string'>> = {},
): Record<string, string | boolean | undefined> {
  const options: Record<string, { type: 'string' | 'boolean' }> = {
    help: { type: 'boolean' },
    version: { type: 'boolean' },
  };
  for (const [name, type] of Object.entries(more)) options[name] = { type };
  for (const { name, isSecret, isSwitch } of OPTION_LIST) {
    if (!isSecret) options[name] = { type: isSwitch ? 'boolean' : 'string' };
  }
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    const [line] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new ConfigError(`${line ?? ''} (--help lists the flags)`, { cause: error });
  }
}

/** A connection to a socket that nobody accepts from would wait without an end. */
function checkHandedSockets({ LISTEN_FDS: count, LISTEN_PID: pid }: NodeJS.ProcessEnv): void {
  if (pid !== String(process.pid) || !(Number(count) > 0)) return;
  throw new ConfigError(
    `systemd has handed over sockets (LISTEN_FDS=${count}), and this server takes none: remove the .socket unit ` +
      `(systemctl disable --now wirefarm.socket), and let --host and --port say where to listen`,
  );
}

function systemdWishes(environment: NodeJS.ProcessEnv): SystemdWishes {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: span, WATCHDOG_PID: pid } = environment;
  checkHandedSockets(environment);
  const isOurs = pid === undefined || pid === String(process.pid);
  const milliseconds = Number(span ?? 0) / 1000;
  return { socket, watchdogMs: isOurs && milliseconds > 0 ? milliseconds : 0 };
}

function newConfig(settings: Settings, environment: NodeJS.ProcessEnv): Config {
  checkReach(settings);
  const data = resolve(settings.data);
  return Object.freeze({
    host: settings.host,
    port: settings.port,
    data,
    projects: settings.projects === '' ? join(data, 'projects') : resolve(settings.projects),
    state: settings.state === '' ? join(data, 'state') : resolve(settings.state),
    farm: settings.farm,
    farmAccess: etcdFilePaths(settings),
    advertise: settings.advertise,
    imageCopies: settings['image-copies'],
    tunnelAddress: settings['tunnel-address'],
    images: settings.images === '' ? join(data, 'images') : resolve(settings.images),
    appliances: settings.appliances === '' ? join(data, 'appliances') : resolve(settings.appliances),
    webUi: settings['web-ui'] === '' ? undefined : resolve(settings['web-ui']),
    startPage: settings['start-page'],
    uploads: join(data, 'uploads'),
    checksStore: settings.migrate === 'check',
    syncsFiles: !settings['no-file-sync'],
    groupAccess: settings['group-access'],
    local: settings.local,
    gns3Version: settings['gns3-version'],
    credentials: settings.user === '' ? undefined : { user: settings.user, password: settings.password },
    isOpen: settings.open,
    confinesPrograms: !settings['no-confinement'],
    allowsUnconfined: settings['allow-unconfined'],
    keepsNodesSeconds: settings['keep-nodes'],
    hasKeeperService: settings['keeper-service'],
    systemd: systemdWishes(environment),
    allowsUnsafeOptions: settings['allow-unsafe-options'],
    kvm: settings.kvm,
    dockerSocket: settings['docker-socket'],
    dockerPrivileges: settings['docker-privileges'],
    allowedHosts: settings['allow-hosts'],
    allowedOrigins: settings['allow-origins'],
    certificate: certificateOf(settings),
    redirectPort: settings['redirect-port'],
    publicUrl: settings['public-url'],
    trustedProxies: settings['trusted-proxies'],
    isForOthers: isForOthers(settings),
    maxJsonBody: settings['max-json-body'],
    udpPorts: settings['udp-ports'],
    consolePorts: settings['console-ports'],
    consoleHost: settings['console-host'],
    consoleNetworks: settings['console-networks'],
    nioNetworks: udpNetworks(settings),
    nioInterfaces: new Set(settings['nio-interfaces']),
    refusesBadHec: settings['refuse-bad-hec'],
    projectLimits: {
      memoryBytes: settings['project-memory'] * MEBI,
      cpuPercent: settings['project-cpu'],
    },
    quotas: {
      server: settings['server-quota'],
      user: settings['user-quota'],
      project: settings['project-quota'],
    },
    endRules: { lasts: settings['end-time'], idle: settings['idle-time'] },
    captureQuota: settings['capture-quota'] * MEBI,
    captureFloor: settings['capture-floor'] * MEBI,
    captureKeepDays: settings['capture-keep-days'],
    keepsBackups: settings['keep-backups'],
    uploadFloor: settings['upload-floor'] === undefined ? undefined : settings['upload-floor'] * MEBI,
    guestFloor: settings['guest-floor'],
    isAudited: settings.audit || settings['audit-required'],
    needsAudit: settings['audit-required'],
    accessLog: settings['access-log'] === '' ? undefined : resolve(settings['access-log']),
    accessLogSample: settings['access-log-sample'],
    rates: { reads: settings['read-rate'], changes: settings['change-rate'] },
    logLevel: settings['log-level'],
  });
}

/** The file that has the password, if one has. Throws ConfigError when the password is given as well. */
export function passwordFileOf(given: GivenSettings): string | undefined {
  const { password, 'password-file': file = '' } = given;
  if (file === '') return undefined;
  if (password?.trim() === '') return file;
  throw new ConfigError('both WIREFARM_PASSWORD and --password-file (WIREFARM_PASSWORD_FILE) are given');
}

function passwordIn(file: string): string {
  try {
    return readSecret(file);
  } catch (error) {
    throw new ConfigError(passwordUnreadable(file, error), { cause: error });
  }
}

export function passwordUnreadable(file: string, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return `--password-file (WIREFARM_PASSWORD_FILE): ${file} cannot be used (${reason})`;
}

/** Throws ConfigError. */
function certificateOf(settings: Settings): CertificatePaths | undefined {
  const { 'tls-cert': certificate, 'tls-key': key, 'redirect-port': redirectPort } = settings;
  if ((certificate === '') !== (key === '')) throw new ConfigError('TLS needs both --tls-cert and --tls-key');
  if (certificate !== '') return { certificate: resolve(certificate), key: resolve(key) };
  if (redirectPort !== undefined) throw new ConfigError('--redirect-port leads to TLS: it needs --tls-cert');
  return undefined;
}

/** The text of `--help`. */
export function helpText(): string {
  const lines = OPTION_LIST.map(({ name, help, isSecret, isSwitch }) => {
    const flag = isSecret ? '' : `--${name}${isSwitch ? '' : ' VALUE'}`;
    return `  ${flag.padEnd(24)} ${variableOf(name).padEnd(24)} ${help}`;
  });
  return [
    'Usage: wirefarm serve [flags], or npm start -- [flags] in a clone',
    '',
    ...lines,
    `  ${'--help, --version'.padEnd(24)}`,
    '',
  ].join('\n');
}
