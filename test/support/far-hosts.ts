/** Two hosts beside this one, each in a network namespace: all three reach each other by links of their own. */
import { execFileSync } from 'node:child_process';
import type { Teardown } from './scratch.js';
import { NetworkNamespace } from './network-namespace.js';

export interface FarHost {
  readonly namespace: NetworkNamespace;
  /** Its address, and that of this host on the link to it. */
  readonly address: string;
  readonly ownAddress: string;
}

interface Link {
  /** The MTU of the end at this host, or of the first host, and of the other. */
  readonly near: number;
  readonly far: number;
}

let made = 0;

/** `between` is the link between the two. */
export function farHosts(
  t: Teardown,
  mtu: { readonly first: Link; readonly second: Link; readonly between: Link },
): readonly [FarHost, FarHost] {
  const first = farHost(t, mtu.first);
  const second = farHost(t, mtu.second);
  const [a, b] = [first.namespace, second.namespace];
  a.ip('link', 'add', 'side', 'type', 'veth', 'peer', 'name', 'side', 'netns', b.name);
  for (const [namespace, size, host] of [
    [a, mtu.between.near, second],
    [b, mtu.between.far, first],
  ] as const) {
    namespace.ip('link', 'set', 'side', 'mtu', String(size), 'up');
    namespace.ip('route', 'add', `${host.address}/32`, 'dev', 'side');
  }
  return [first, second];
}

function farHost(t: Teardown, { near, far }: Link): FarHost {
  const namespace = new NetworkNamespace(t);
  const number = made++ * 4;
  const device = `wff${process.pid}n${made}`;
  const [ownAddress, address] = [`198.18.81.${number + 1}`, `198.18.81.${number + 2}`];
  const ip = (...words: readonly string[]): unknown => execFileSync('ip', words);
  ip('link', 'add', device, 'type', 'veth', 'peer', 'name', 'wire', 'netns', namespace.name);
  t.teardown(() => {
    ip('link', 'del', device);
  });
  ip('addr', 'add', `${ownAddress}/30`, 'dev', device);
  ip('link', 'set', device, 'mtu', String(near), 'up');
  namespace.ip('link', 'set', 'lo', 'up');
  namespace.ip('addr', 'add', `${address}/30`, 'dev', 'wire');
  namespace.ip('link', 'set', 'wire', 'mtu', String(far), 'up');
  namespace.ip('route', 'add', 'default', 'via', ownAddress);
  return { namespace, address, ownAddress };
}
