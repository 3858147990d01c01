/** Hosts in network namespaces on one bridge, which this process reaches as well. Ways between two of them are cut without a word to either. */
import { execFileSync } from 'node:child_process';
import { NetworkNamespace } from '../network-namespace.js';
import type { Teardown } from '../scratch.js';

const NETWORK = '198.18.84';
const OWN = 254;
/** Nobody has this Ethernet address: frames for it are lost. */
const NOBODY = '02:00:00:00:00:99';
const MTU = '9000';

export interface SoakHost {
  readonly name: string;
  readonly address: string;
  readonly namespace: NetworkNamespace;
}

export class SoakNetwork {
  static readonly all = `${NETWORK}.0/24`;
  readonly ownAddress = `${NETWORK}.${OWN}`;
  readonly #t: Teardown;
  readonly #bridge: NetworkNamespace;
  #hosts = 0;

  constructor(t: Teardown) {
    this.#t = t;
    this.#bridge = new NetworkNamespace(t);
    this.#bridge.ip('link', 'add', 'bridge', 'type', 'bridge');
    this.#bridge.ip('link', 'set', 'bridge', 'mtu', MTU, 'up');
    const device = `wfs${process.pid}`;
    const ip = (...words: readonly string[]): unknown => execFileSync('ip', words);
    ip('link', 'add', device, 'type', 'veth', 'peer', 'name', 'own', 'netns', this.#bridge.name);
    t.teardown(() => {
      ip('link', 'del', device);
    });
    this.#plug('own');
    ip('addr', 'add', `${this.ownAddress}/24`, 'dev', device);
    ip('link', 'set', device, 'mtu', MTU, 'up');
  }

  host(name: string): SoakHost {
    const number = ++this.#hosts;
    const namespace = new NetworkNamespace(this.#t);
    const address = `${NETWORK}.${number}`;
    const port = `port${number}`;
    this.#bridge.ip('link', 'add', port, 'type', 'veth', 'peer', 'name', 'wire', 'netns', namespace.name);
    this.#plug(port);
    namespace.ip('link', 'set', 'lo', 'up');
    namespace.ip('addr', 'add', `${address}/24`, 'dev', 'wire');
    namespace.ip('link', 'set', 'wire', 'mtu', MTU, 'up');
    return { name, address, namespace };
  }

  /** Loses all that `from` sends to `to`. */
  cut(from: SoakHost, to: SoakHost): void {
    from.namespace.ip('neigh', 'replace', to.address, 'lladdr', NOBODY, 'nud', 'permanent', 'dev', 'wire');
  }

  heal(from: SoakHost, to: SoakHost): void {
    from.namespace.ip('neigh', 'del', to.address, 'dev', 'wire');
  }

  #plug(port: string): void {
    this.#bridge.ip('link', 'set', port, 'mtu', MTU, 'master', 'bridge', 'up');
  }
}
