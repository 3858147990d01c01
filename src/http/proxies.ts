/**
 * The proxies before this server, and their clients. Each proxy adds the address that it was called from to the end of
 * `X-Forwarded-For`, so the last address that is no trusted proxy is the client: all before it may be invented.
 */
import { isIP, type BlockList } from 'node:net';

export type Scheme = 'http' | 'https';

/** The client of a request, as far as proxies can be trusted to name it. */
export interface Requester {
  readonly address: string;
  /** The scheme of the URL that the client has called. */
  readonly scheme: Scheme;
}

/** Calls back for each header of a request, also for each of several that have the same name. */
type EachHeader = (callback: (name: string, value: string) => void) => void;

/** More addresses than this have no proxies between them. */
const MOST_ADDRESSES = 32;

export class Proxies {
  readonly #trusted: BlockList;
  readonly #hasSome: boolean;

  constructor(trusted: BlockList) {
    this.#trusted = trusted;
    this.#hasSome = trusted.rules.length > 0;
  }

  isTrusted(address: string): boolean {
    const version = this.#hasSome ? isIP(address) : 0;
    return version !== 0 && this.#trusted.check(address, version === 6 ? 'ipv6' : 'ipv4');
  }

  /** `connection` is the other end of the connection, in the words of the library. */
  clientOf(connection: Requester, eachHeader: EachHeader): Requester {
    if (!this.isTrusted(connection.address)) return connection;
    const addresses: string[] = [];
    let { scheme } = connection;
    eachHeader((name, value) => {
      if (name === 'x-forwarded-for') addresses.push(...value.split(','));
      else if (name === 'x-forwarded-proto') scheme = schemeOf(value) ?? scheme;
    });
    return { address: this.#addressOf(connection.address, addresses.slice(-MOST_ADDRESSES)), scheme };
  }

  /** The address that a trusted proxy was called from, where that one can be read. */
  #addressOf(proxy: string, addresses: readonly string[]): string {
    let client = proxy;
    for (const text of addresses.toReversed()) {
      const address = readAddress(text.trim());
      if (address === undefined) return client;
      client = address;
      if (!this.isTrusted(address)) return client;
    }
    return client;
  }
}

/** The last of several schemes is that of the nearest proxy. */
function schemeOf(list: string): Scheme | undefined {
  const last = list.split(',').at(-1)?.trim().toLowerCase();
  return last === 'http' || last === 'https' ? last : undefined;
}

/** An address in the words of the library, which does not abbreviate. Some proxies add the port. */
function readAddress(text: string): string | undefined {
  const bare = text.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
  if (isIP(bare) === 4) return bare;
  return isIP(bare) === 6 && !bare.includes('%') ? unabbreviated(bare) : undefined;
}

function unabbreviated(address: string): string {
  // The host of a URL has no dotted part, and `::` at most once.
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [before = [], after = []] = plain.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(':');
}
