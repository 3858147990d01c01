/** The values that settings may have, read from their texts. */
import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import { isLoopback } from '../base/loopback.js';
import { etcdAddress, type EtcdAddress } from '../base/store/etcd/etcd-address.js';
import { ROLES, type Role } from '../lab/access/roles.js';
import type { Span } from '../operations/end-times/end-rules.js';
import { RESOURCES, type Amounts } from '../lab/quotas/resources.js';

export const whole = (least: number, most: number): z.ZodType<number> =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(least, `must be at least ${least}`).max(most, `must be at most ${most}`));

/** MiB in bytes. An empty text is undefined. */
export const optionalMebi: z.ZodType<number | undefined> = z.union([
  z.literal('').transform(() => undefined),
  whole(0, 1_000_000_000).transform((mebi) => mebi * 2 ** 20),
]);

/** A port. An empty text is none. */
export const optionalPort: z.ZodType<number | undefined> = z.union([
  z.literal('').transform(() => undefined),
  whole(1, 65_535),
]);

/** Where the etcd of a farm is. An empty text is undefined. */
export const farmAddress: z.ZodType<EtcdAddress | undefined> = z.string().transform((text, context) => {
  const address = text === '' ? undefined : etcdAddress(text);
  if (text !== '' && address === undefined)
    context.addIssue('must look like etcd://10.0.0.1:2379,10.0.0.2:2379/wirefarm, or etcds:// with TLS');
  return address;
});

/** Where other servers of a farm reach this one. An empty text is undefined. */
export const advertisedAddress: z.ZodType<string | undefined> = z
  .string()
  .regex(/^$|^https?:\/\/[^/?#@\s]+$/, 'must look like http://10.0.0.5:3080')
  .transform((text) => (text === '' ? undefined : text));

export const onOrOff: z.ZodType<boolean> = z
  .enum(['', '0', 'false', '1', 'true'])
  .transform((value) => value === '1' || value === 'true');

export const portRange: z.ZodType<[first: number, last: number]> = z
  .string()
  .regex(/^\d{1,5}-\d{1,5}$/, 'must look like 20000-30000')
  .transform((range): [number, number] => {
    const [first = 0, last = 0] = range.split('-').map(Number);
    return [first, last];
  })
  .refine(([first, last]) => first >= 1 && first <= last && last <= 65_535, 'must lie between 1 and 65535');

export const listOf = (entry: z.ZodType<string, string>): z.ZodType<readonly string[], string> =>
  z
    .string()
    .transform((list) =>
      list
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    )
    .pipe(z.array(entry));

/** An address of this host that others reach. An empty text is none. */
export const outerAddress: z.ZodType<string | undefined> = z.string().transform((text, context) => {
  if (text === '') return undefined;
  if (isIP(text) !== 0 && !isLoopback(text)) return text;
  context.addIssue({ code: 'custom', message: 'must be an IP address that other hosts reach' });
  return z.NEVER;
});

const UNITS: Readonly<Record<string, number>> = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };
const IN_BYTES: readonly string[] = ['memory', 'disk'];
const LIMIT = /^([a-z]+)=(\d{1,12})([KMGT]?)$/;

/** Limits of resources, such as `nodes=500,memory=64G`. An empty text is none. */
function limitsOf(): z.ZodType<Amounts, string> {
  return z.string().transform((text, context) => {
    const amounts: Partial<Record<string, number>> = {};
    for (const entry of text === '' ? [] : text.split(',')) {
      const [, name = '', digits, unit = ''] = LIMIT.exec(entry.trim()) ?? [];
      if (!RESOURCES.some((resource) => resource === name) || (unit !== '' && !IN_BYTES.includes(name))) {
        const message = `'${entry}' is no limit like nodes=500 or memory=64G, of ${RESOURCES.join(', ')}`;
        context.addIssue({ code: 'custom', message });
        return z.NEVER;
      }
      amounts[name] = Number(digits) * (UNITS[unit] ?? 1);
    }
    return amounts;
  });
}

/** A quota of the server or of a user. */
export const quota = limitsOf();

/** A quota of a project; a bare number is MiB of the disk, of which 0 is all. */
export const projectQuota: z.ZodType<Amounts> = z
  .string()
  .transform((text) => (/^\d{1,9}$/.test(text) ? (Number(text) === 0 ? '' : `disk=${text}M`) : text))
  .pipe(limitsOf());

export const hostName: z.ZodType<string, string> = z
  .string()
  .refine((name) => isIP(name) !== 0 || /^[\w.-]{1,253}$/.test(name), 'must be names without a port');

/** Loopback carries what programs of the host say to each other in confidence. */
export const interfaceName: z.ZodType<string, string> = z
  .string()
  .regex(/^[^/\s:]{1,15}$/, 'must be names of interfaces')
  .refine((name) => !/^lo0?$/.test(name), 'must not have the loopback interface');

const SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 };
const SPAN = /^([a-z]+)=(\d{1,5})([mhd])(?:\/(\d{1,5})([mhd]))?$/;

/** Usual and longest spans of roles, such as `user=8h/3d`. An empty text is none. */
export const spans: z.ZodType<Partial<Record<Role, Span>>> = z.string().transform((text, context) => {
  const found: Partial<Record<Role, Span>> = {};
  for (const entry of text === '' ? [] : text.split(',')) {
    const [, name, usualCount, usualUnit = '', mostCount, mostUnit = ''] = SPAN.exec(entry.trim()) ?? [];
    const role = ROLES.find((one) => one === name);
    const usual = Number(usualCount) * (SECONDS[usualUnit] ?? 0);
    const most = mostCount === undefined ? undefined : Number(mostCount) * (SECONDS[mostUnit] ?? 0);
    if (role === undefined || usual === 0 || usual > (most ?? Infinity)) {
      const message = `'${entry}' is no time of a role like user=8h or user=8h/3d, of ${ROLES.join(', ')}`;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }
    found[role] = { usual, most };
  }
  return found;
});

function blockList(list: string, context: z.RefinementCtx): BlockList {
  const networks = new BlockList();
  for (const network of list.split(',').map((entry) => entry.trim())) {
    const [address = '', length, ...more] = network.split('/');
    const version = isIP(address);
    const longest = version === 6 ? 128 : 32;
    const prefix = length === undefined ? longest : /^\d{1,3}$/.test(length) ? Number(length) : Infinity;
    if (version === 0 || address.includes('%') || prefix > longest || more.length > 0) {
      context.addIssue({ code: 'custom', message: `'${network}' is no network like 10.0.0.0/8` });
      return z.NEVER;
    }
    networks.addSubnet(address, prefix, version === 6 ? 'ipv6' : 'ipv4');
  }
  return networks;
}

/** Networks of addresses, or a word for a choice of them. */
export const networkList: z.ZodType<BlockList | 'any' | 'auto'> = z.string().transform((list, context) => {
  return list === 'any' || list === 'auto' ? list : blockList(list, context);
});

/** Addresses and networks. An empty text is none. */
export const networks: z.ZodType<BlockList> = z.string().transform((list, context) => {
  return list === '' ? new BlockList() : blockList(list, context);
});

const NO_ORIGIN = 'must look like https://labs.example.org, without a path';

/** The origin of a server. An empty text is none. */
export const publicUrl: z.ZodType<URL | undefined> = z.string().transform((text, context) => {
  if (text === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isBare = url !== undefined && (text === url.origin || text === `${url.origin}/`);
  if (isBare && /^https?:$/.test(url.protocol)) return url;
  context.addIssue({ code: 'custom', message: NO_ORIGIN });
  return z.NEVER;
});
