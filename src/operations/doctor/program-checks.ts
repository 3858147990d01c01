/** Checks of the programs that nodes run, and of the privileges that they need. Runs in a worker thread. */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isExecutable } from '../../run/host-tasks.js';
import { SYSTEM_PATH } from '../../run/keeper/program.js';
import { namespaceTasks } from '../../run/nodes/namespace-tasks.js';
import { qemuHostTasks } from '../../run/nodes/qemu/qemu-host-tasks.js';
import type { Diagnosis } from './diagnosis.js';
import { textOf } from './kernel-checks.js';
import type { Patient } from './patient.js';

const LIMIT_MS = 3000;
const LONGEST_VERSION = 120;
/** The numbers of the capabilities of links. */
/** Root lacks these in a container of Docker. */
const RIGHTS_OF_CONTAINER = '--cap-add NET_ADMIN --cap-add SYS_PTRACE --cap-add SYS_ADMIN';
const CAPABILITIES = { CAP_NET_ADMIN: 12, CAP_NET_RAW: 13 };
const GROUPS = '/sys/fs/cgroup';

interface Tool {
  readonly name: string;
  readonly flag: string;
  readonly kind: string;
  readonly packages: string;
  /** The number of the version in what it prints. */
  readonly version: RegExp;
}

const TOOLS: readonly Tool[] = [
  { name: 'vpcs', flag: '-v', kind: 'virtual PCs', packages: 'vpcs', version: /version (\d[\da-z.]*)/i },
  {
    name: 'qemu-img',
    flag: '--version',
    kind: 'virtual machines',
    packages: 'qemu-utils qemu-system-x86',
    version: /version\s+([\d.]+)/i,
  },
  {
    name: 'dynamips',
    flag: '--help',
    kind: 'Dynamips routers',
    packages: 'dynamips',
    version: /version (\d[\da-z.]*)/i,
  },
  {
    name: 'tshark',
    flag: '--version',
    kind: 'the dissection of packets',
    packages: 'tshark',
    version: /\s([\d.]+)/,
  },
];

export async function checkPrograms(patient: Patient): Promise<Diagnosis[]> {
  // Dynamips writes a log where it runs, even to tell its version.
  const place = mkdtempSync(join(tmpdir(), 'wirefarm-doctor-'));
  const tools = await Promise.all(TOOLS.map((tool) => checkTool(tool, place)));
  rmSync(place, { recursive: true, force: true });
  return [
    ...tools,
    await checkDocker(patient),
    checkKvm(patient),
    checkCapabilities(),
    checkGroups(patient),
    checkConfinement(patient),
    checkNode(),
  ];
}

async function checkTool({ name, flag, kind, packages, version }: Tool, place: string): Promise<Diagnosis> {
  const id = `tool.${name}`;
  const repair = `apt-get install ${packages}`;
  const path = SYSTEM_PATH.split(':')
    .map((folder) => join(folder, name))
    .find(isExecutable);
  if (path === undefined)
    return { id, level: 'note', found: `${name} is not installed`, means: `${kind}: none here`, repair };
  const [, number] = version.exec(await printedBy(path, flag, place)) ?? [];
  return number === undefined
    ? {
        id,
        level: 'warning',
        found: `${path} does not tell its version`,
        means: `${kind} may not work`,
        repair: `apt-get install --reinstall ${packages} (and try ${path} ${flag})`,
      }
    : { id, level: 'ok', found: `${path} ${number.slice(0, LONGEST_VERSION)}` };
}

/** The output, whatever the exit code: some programs end with 1 after their help. */
function printedBy(path: string, flag: string, cwd: string): Promise<string> {
  const options = {
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
    maxBuffer: 65_536,
    env: { PATH: SYSTEM_PATH },
    cwd,
  } as const;
  return new Promise((resolve) => {
    const child = execFile(path, [flag], options, (_error, output, errors) => {
      resolve(`${output}\n${errors}`);
    });
    child.stdin?.end();
  });
}

async function checkDocker({ dockerSocket }: Patient): Promise<Diagnosis> {
  const id = 'tool.docker';
  const answer = await engineVersion(dockerSocket);
  if (typeof answer === 'string')
    return { id, level: 'ok', found: `the engine at ${dockerSocket} is ${answer}` };
  const isThere = answer.code !== 'ENOENT';
  return {
    id,
    level: isThere ? 'warning' : 'note',
    found: `no engine answers at ${dockerSocket} (${answer.code})`,
    means: 'containers: none here',
    repair:
      answer.code === 'EACCES'
        ? `usermod -aG docker USER (the user of the server, and start it again)`
        : 'apt-get install docker.io && systemctl start docker',
  };
}

function engineVersion(socketPath: string): Promise<string | { readonly code: string }> {
  return new Promise((resolve) => {
    const asked = request({ socketPath, path: '/version', timeout: LIMIT_MS }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (bytes: Buffer) => {
        chunks.push(bytes);
        if (chunks.length > 100) asked.destroy();
      });
      response.on('end', () => {
        const [, version = 'of unknown version'] =
          /"Version":"([^"]{1,60})"/.exec(Buffer.concat(chunks).toString()) ?? [];
        resolve(version);
      });
    });
    asked.on('timeout', () => asked.destroy(Object.assign(new Error('no answer'), { code: 'no answer' })));
    asked.on('error', (error) => {
      resolve({ code: 'code' in error && typeof error.code === 'string' ? error.code : 'no answer' });
    });
    asked.on('close', () => {
      resolve({ code: 'no answer' });
    });
    asked.end();
  });
}

function checkKvm({ kvm }: Patient): Diagnosis {
  const id = 'device.kvm';
  if (kvm === 'off') return { id, level: 'ok', found: 'KVM is switched off' };
  const fault = qemuHostTasks.kvmFault(undefined);
  if (fault === undefined) return { id, level: 'ok', found: 'KVM works' };
  return {
    id,
    level: kvm === 'require' ? 'failure' : 'note',
    found: fault,
    means:
      kvm === 'require'
        ? 'virtual machines do not start'
        : 'virtual machines are emulated, and ten times slower',
    repair:
      'modprobe kvm_intel || modprobe kvm_amd; usermod -aG kvm USER (switch on virtualisation in the firmware or the hypervisor)',
  };
}

function checkCapabilities(): Diagnosis {
  const id = 'rights.capabilities';
  const [, digits = '0'] = /^CapEff:\s+([0-9a-f]+)/m.exec(textOf('/proc/self/status') ?? '') ?? [];
  const own = BigInt(`0x${digits}`);
  const lacking = Object.entries(CAPABILITIES).filter(([, number]) => (own & (1n << BigInt(number))) === 0n);
  if (lacking.length === 0) return { id, level: 'ok', found: 'CAP_NET_ADMIN and CAP_NET_RAW are there' };
  const names = lacking.map(([name]) => name);
  return {
    id,
    level: 'note',
    found: `this user lacks ${names.join(' and ')}`,
    means: 'clouds reach no interfaces of the host, and NATs do not start',
    repair: `in the unit of systemd: AmbientCapabilities=${names.join(' ')}`,
  };
}

/** The group of this process has to be its own, so that projects can have groups in it. */
function checkGroups({ limitsProjects }: Patient): Diagnosis {
  const id = 'rights.cgroup';
  const [, path = ''] = /^0::(.*)$/m.exec(textOf('/proc/self/cgroup') ?? '') ?? [];
  const folder = join(GROUPS, path);
  try {
    accessSync(join(folder, 'cgroup.procs'), constants.W_OK);
    return { id, level: 'ok', found: `the control group ${folder} can have groups of projects` };
  } catch {
    return {
      id,
      level: limitsProjects ? 'warning' : 'note',
      found: `the control group ${folder} is not delegated to this user`,
      means: 'the kernel enforces no memory and no processors of projects, and counts none',
      repair: 'in the unit of systemd: Delegate=yes',
    };
  }
}

function checkConfinement({ confinesPrograms, isForOthers, parts }: Patient): Diagnosis {
  const id = 'rights.confinement';
  if (!existsSync(parts.data)) return { id, level: 'ok', found: 'not tried: there are no folders yet' };
  const problem = confinesPrograms
    ? namespaceTasks.probeConfinement({ folder: parts.data })
    : 'confinement is switched off';
  if (problem === undefined) return { id, level: 'ok', found: 'programs of nodes are confined' };
  return {
    id,
    level: isForOthers ? 'warning' : 'note',
    found: `programs of nodes are not confined: ${problem}`,
    means: 'they have the rights of the server, and reach what it reaches',
    repair: confinesPrograms
      ? `run the server as root, in a container with ${RIGHTS_OF_CONTAINER}, too`
      : 'run the server without --no-confinement',
  };
}

function checkNode(): Diagnosis {
  const id = 'program.node';
  const found = `Node.js ${process.version}`;
  return process.versions.node.startsWith('20.')
    ? {
        id,
        level: 'note',
        found,
        means: 'Node.js 20 is past its end: nobody repairs it',
        repair: 'install Node.js 22',
      }
    : { id, level: 'ok', found };
}
