/** Where the farm's etcd is: `etcd://host:port,host:port/prefix`, or `etcds://` with TLS. */
import type { EtcdAccess } from './etcd-access.js';

export interface EtcdAddress {
  /** The servers, each as an URL without a path. */
  readonly servers: readonly string[];
  /** Everything is stored below this path. */
  readonly prefix: string;
  /** By what etcd lets this server in; undefined when it lets everybody in. */
  readonly access?: EtcdAccess | undefined;
}

const FORM = /^etcd(s?):\/\/([^/@?#\s]+)((?:\/[\w.-]+)*)$/;
const USUAL_PREFIX = '/wirefarm';
const USUAL_PORT = '2379';
const MOST_SERVERS = 16;

/** Undefined when the text is no such address. */
export function etcdAddress(text: string): EtcdAddress | undefined {
  const [, secure, hosts, prefix] = FORM.exec(text) ?? [];
  if (hosts === undefined || prefix === undefined) return undefined;
  const servers = hosts.split(',').map((host) => serverUrl(`http${secure ?? ''}`, host));
  if (servers.length > MOST_SERVERS || !servers.every((server) => server !== undefined)) return undefined;
  return { servers, prefix: prefix === '' ? USUAL_PREFIX : prefix };
}

function serverUrl(scheme: string, host: string): string | undefined {
  const url = URL.parse(`http://${host}`);
  if (url === null || url.hostname === '' || url.pathname !== '/') return undefined;
  return `${scheme}://${url.hostname}:${url.port === '' ? portOf(host) : url.port}`;
}

/** The URL class leaves port 80 out. */
function portOf(host: string): string {
  return host.endsWith(':80') ? '80' : USUAL_PORT;
}
