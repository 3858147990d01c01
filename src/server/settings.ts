/** The settings of a server: what each is called, how its text is read, and what it is when nothing is given. */
import { isIP } from 'node:net';
import { z } from 'zod';
import {
  advertisedAddress,
  farmAddress,
  hostName,
  interfaceName,
  listOf,
  networkList,
  networks,
  onOrOff,
  optionalMebi,
  optionalPort,
  outerAddress,
  portRange,
  projectQuota,
  publicUrl,
  quota,
  spans,
  whole,
} from './setting-values.js';

interface Option {
  readonly help: string;
  readonly fallback: string;
  readonly isSwitch?: true;
  /** Secrets have no flag: a command line can be read by every user of the machine. */
  readonly isSecret?: true;
  /** A server that runs takes it over when its settings are read again. */
  readonly isLive?: true;
}

/** Where stock browser clients are served from. */
const STOCK_ORIGINS = [
  'http://127.0.0.1:3080',
  'http://localhost:3080',
  'http://127.0.0.1:4200',
  'http://localhost:4200',
  'https://gns3.github.io',
].join(',');

/** The line of `--help` for each setting, and its text when nothing is given. */
const OPTIONS = z.registry<Option>();

function option<Value extends z.ZodType>(value: Value, about: Option): Value {
  const own = value.clone();
  OPTIONS.add(own, about);
  return own;
}

const toggle = (help: string): z.ZodType<boolean> => option(onOrOff, { help, fallback: '', isSwitch: true });

const hostAddress = z
  .string()
  .refine((host) => isIP(host) !== 0 || host === 'localhost', 'must be an IP address or localhost');

export const SETTINGS = z.object({
  config: option(z.string(), { help: 'file of settings, a line WIREFARM_NAME=value for each', fallback: '' }),
  host: option(hostAddress, { help: 'address to listen on', fallback: '127.0.0.1' }),
  port: option(whole(0, 65_535), { help: 'TCP port to listen on', fallback: '3080' }),
  data: option(z.string().min(1, 'must not be empty'), {
    help: 'folder of everything kept on disk',
    fallback: './data',
  }),
  projects: option(z.string(), { help: 'projects folder, when it lies elsewhere', fallback: '' }),
  state: option(z.string(), { help: 'state folder, when it lies elsewhere', fallback: '' }),
  farm: option(farmAddress, {
    help: 'etcd that has the records in place of the state folder: etcd://host:2379,host:2379/prefix',
    fallback: '',
  }),
  'farm-ca': option(z.string(), { help: 'authority of the certificates of etcd, as PEM', fallback: '' }),
  'farm-cert': option(z.string(), {
    help: 'certificate by which etcd knows this server, as PEM',
    fallback: '',
  }),
  'farm-key': option(z.string(), { help: 'private key of that certificate, as PEM', fallback: '' }),
  'farm-user': option(z.string().trim(), { help: 'user of etcd', fallback: '' }),
  'farm-password-file': option(z.string(), {
    help: 'file whose first line is the password of that user',
    fallback: '',
  }),
  advertise: option(advertisedAddress, {
    help: 'address at which the other servers of the farm reach this one: http://10.0.0.5:3080',
    fallback: '',
  }),
  'image-copies': option(whole(1, 16), {
    help: 'servers of the farm that have an image before its upload is answered, as far as there are so many',
    fallback: '2',
  }),
  'tunnel-address': option(outerAddress, {
    help: 'address of this host at which its links to other hosts end, such as that of a WireGuard interface',
    fallback: '',
  }),
  images: option(z.string(), { help: 'images folder, when it lies elsewhere', fallback: '' }),
  appliances: option(z.string(), {
    help: 'folder of appliance files (.gns3a), when it lies elsewhere',
    fallback: '',
  }),
  'web-ui': option(z.string(), { help: 'folder of a built GNS3 web UI, to serve it', fallback: '' }),
  'start-page': option(z.enum(['console', 'web-ui'], 'must be console or web-ui'), {
    help: 'page at the root of the server: console, or web-ui as GNS3 has it',
    fallback: 'console',
  }),
  migrate: option(z.enum(['yes', 'check'], 'must be yes or check'), {
    help: 'check tells what a start would do to a store of an older format, and does nothing',
    fallback: 'yes',
  }),
  'no-file-sync': toggle('answer uploads before the disk has them: a power cut may take them'),
  'group-access': toggle("let the group of the server's user read images and projects"),
  local: toggle('the clients share this machine: permit load, shutdown and any path'),
  'gns3-version': option(z.string().regex(/^2\.2\.\d+$/, 'must look like 2.2.60'), {
    help: 'the GNS3 version that clients are told',
    fallback: '2.2.60',
  }),
  user: option(z.string().trim(), { help: 'user name for HTTP Basic authentication', fallback: '' }),
  password: option(z.string().trim(), {
    help: 'password for HTTP Basic authentication',
    fallback: '',
    isSecret: true,
  }),
  'password-file': option(z.string(), { help: 'file whose first line is that password', fallback: '' }),
  open: toggle('listen beyond loopback without a password'),
  'allow-unconfined': toggle('run programs of nodes that cannot be confined for clients on other hosts, too'),
  'no-confinement': toggle('run the programs of nodes with the rights of the server'),
  'keep-nodes': option(whole(0, 7 * 24 * 3600), {
    help: 'how many seconds the programs of nodes live without a server; the next server takes them over',
    fallback: '0',
  }),
  'keeper-service': toggle(
    'the process that holds the programs of nodes is a service of its own: wirefarm keeper',
  ),
  'allow-unsafe-options': toggle(
    'let clients add any option to QEMU machines, also those that reach files and programs of the host',
  ),
  kvm: option(z.enum(['auto', 'require', 'off']), {
    help: 'auto runs virtual machines by KVM where it works; require refuses to emulate them; off always does',
    fallback: 'auto',
  }),
  'docker-socket': option(z.string().startsWith('/', 'must be an absolute path'), {
    help: 'socket of the Docker engine, or of podman',
    fallback: '/var/run/docker.sock',
  }),
  'docker-privileges': option(z.enum(['all', 'fewer'], 'must be all or fewer'), {
    help: 'rights of containers: all, or fewer',
    fallback: 'all',
  }),
  'allow-hosts': option(listOf(hostName), {
    help: 'comma-separated names that clients may call this server',
    fallback: '',
    isLive: true,
  }),
  'allow-origins': option(listOf(z.string()), {
    help: 'comma-separated origins of browser clients',
    fallback: STOCK_ORIGINS,
    isLive: true,
  }),
  'tls-cert': option(z.string(), {
    help: 'certificate with its chain (PEM): the server speaks TLS',
    fallback: '',
    isLive: true,
  }),
  'tls-key': option(z.string(), { help: 'key of the certificate (PEM)', fallback: '', isLive: true }),
  'redirect-port': option(optionalPort, {
    help: 'TCP port at which clients without TLS are sent to the other one',
    fallback: '',
  }),
  'public-url': option(publicUrl, {
    help: 'URL of this server for clients, such as https://labs.example.org',
    fallback: '',
    isLive: true,
  }),
  'trusted-proxies': option(networks, {
    help: 'comma-separated addresses and networks of proxies whose X-Forwarded headers count',
    fallback: '',
    isLive: true,
  }),
  'max-json-body': option(whole(1024, 64 * 1024 * 1024), {
    help: 'largest JSON request body, in bytes',
    fallback: '1048576',
    isLive: true,
  }),
  'console-host': option(z.union([z.literal('').transform(() => undefined), hostAddress]), {
    help: 'address at which consoles of nodes listen (loopback with users, else that of --host)',
    fallback: '',
  }),
  'console-networks': option(networkList, {
    help: 'comma-separated networks that consoles of nodes serve, or any; auto is this host, without users any',
    fallback: 'auto',
    isLive: true,
  }),
  'console-ports': option(portRange, {
    help: 'TCP ports that are given out to consoles of nodes',
    fallback: '5000-10000',
  }),
  'udp-ports': option(portRange, { help: 'UDP ports that are given out to links', fallback: '20000-30000' }),
  'nio-networks': option(networkList, {
    help: 'comma-separated networks that UDP links may lead to, or any; auto is any, with --open this host',
    fallback: 'auto',
  }),
  'nio-interfaces': option(listOf(interfaceName), {
    help: 'comma-separated interfaces of the host that labs may use',
    fallback: '',
  }),
  'refuse-bad-hec': toggle('ATM switches drop cells with a wrong header checksum'),
  'server-quota': option(quota, {
    help: 'what all projects may have together, such as nodes=5000,running=400,memory=64G',
    fallback: '',
    isLive: true,
  }),
  'user-quota': option(quota, {
    help: 'what the projects of a user may have together',
    fallback: '',
    isLive: true,
  }),
  'project-quota': option(projectQuota, {
    help: 'what a project may have; a bare number is MiB of the disk',
    fallback: '',
    isLive: true,
  }),
  'end-time': option(spans, {
    help: 'how long labs of a role last when they open, and the most that it may set, such as user=8h/3d',
    fallback: '',
    isLive: true,
  }),
  'idle-time': option(spans, {
    help: 'how long nobody uses a lab that ends then, by role, such as user=2h/8h',
    fallback: '',
    isLive: true,
  }),
  'project-memory': option(whole(0, 1_000_000_000), {
    help: 'memory that the programs of one project may use together, in MiB; 0 is all',
    fallback: '0',
  }),
  'project-cpu': option(whole(0, 1_000_000), {
    help: 'percent of a core that the programs of one project may use together; 0 is all',
    fallback: '0',
  }),
  'capture-quota': option(whole(1, 1_000_000_000), {
    help: 'what the captures of one project may take, in MiB',
    fallback: '10240',
    isLive: true,
  }),
  'capture-floor': option(whole(0, 1_000_000_000), {
    help: 'captures stop when less is free on their disk, in MiB',
    fallback: '1024',
  }),
  'capture-keep-days': option(whole(0, 36_500), {
    help: 'delete finished captures that are older; 0 keeps all',
    fallback: '0',
    isLive: true,
  }),
  'keep-backups': option(whole(0, 10_000), {
    help: 'how many backups are kept; the oldest are deleted; 0 keeps all',
    fallback: '7',
    isLive: true,
  }),
  'upload-floor': option(z.union([z.literal('').transform(() => undefined), whole(0, 1_000_000_000)]), {
    help: 'uploads, imports and snapshots leave so much free, in MiB (1024, or 5 % of a small disk)',
    fallback: '',
  }),
  'guest-floor': option(optionalMebi, {
    help: 'nodes are suspended when less is free on the disk of projects, in MiB (256, or 1 % of a small disk)',
    fallback: '',
    isLive: true,
  }),
  'read-rate': option(whole(0, 1_000_000_000), {
    help: 'requests that only read, by one user in a second; 0 is any',
    fallback: '5000',
    isLive: true,
  }),
  'change-rate': option(whole(0, 1_000_000_000), {
    help: 'requests that change something, by one user in a second; 0 is any',
    fallback: '1000',
    isLive: true,
  }),
  audit: toggle('audit changes also when there are no users'),
  'audit-required': toggle('refuse changes while the audit cannot be written'),
  'access-log': option(z.string(), {
    help: 'file for the lines of requests, in place of the log',
    fallback: '',
  }),
  'access-log-sample': option(whole(0, 1_000_000_000), {
    help: 'log one of so many requests that only read; 0 logs none of them',
    fallback: '0',
    isLive: true,
  }),
  'log-level': option(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']), {
    help: 'trace, debug, info, warn, error or silent',
    fallback: 'info',
    isLive: true,
  }),
});

export type Settings = z.infer<typeof SETTINGS>;

export const OPTION_LIST = Object.entries(SETTINGS.shape).flatMap(([name, value]) => {
  const about = OPTIONS.get(value);
  return about === undefined ? [] : [{ name, ...about }];
});

/** The names of the settings that a server takes over while it runs. */
export const LIVE_SETTINGS: readonly string[] = OPTION_LIST.filter(({ isLive }) => isLive).map(
  ({ name }) => name,
);

export const variableOf = (name: string): string => `WIREFARM_${name.toUpperCase().replaceAll('-', '_')}`;
