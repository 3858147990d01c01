/** By what etcd lets a server in, and the sentences about why it does not. */
import { Agent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';

export interface EtcdAccess {
  /** PEM of the authority that has signed the certificates of etcd; undefined is every authority that Node.js trusts. */
  readonly authority: Buffer | undefined;
  /** The certificate by which etcd knows this server, and its key. */
  readonly pair: { readonly certificate: Buffer; readonly key: Buffer } | undefined;
  readonly login: EtcdLogin | undefined;
}

export interface EtcdLogin {
  readonly user: string;
  /** Reads it anew, so that another one needs no restart. */
  readonly password: () => Promise<string>;
}

/** A peer that is gone without a word is noticed some ten seconds later. */
const ALIVE_MS = 3000;

/** How requests to the servers are sent. */
export interface EtcdTransport {
  readonly agent: Agent;
  readonly request: typeof plainRequest;
}

export function etcdTransport(servers: readonly string[], access: EtcdAccess | undefined): EtcdTransport {
  const usual = { keepAlive: true, keepAliveMsecs: ALIVE_MS, scheduling: 'lifo' } as const;
  if (servers[0]?.startsWith('https:') !== true) return { agent: new Agent(usual), request: plainRequest };
  const { authority, pair } = access ?? {};
  const agent = new TlsAgent({
    ...usual,
    ...(authority !== undefined && { ca: authority }),
    ...(pair !== undefined && { cert: pair.certificate, key: pair.key }),
  });
  return { agent, request: tlsRequest };
}

/** etcd has answered that it does not do this. */
export class EtcdError extends Error {
  override readonly name = 'EtcdError';

  constructor(
    /** The number of gRPC. */
    readonly code: number,
    readonly reason: string,
  ) {
    super(reason);
  }
}

const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;
const NO_USER = 'etcdserver: user name is empty';
/** The users have changed since the token was given; or there were none, and so no token. */
const OF_TOKENS = ['etcdserver: revision of auth store is old', NO_USER];
/** Answers of etcd about users, and the meaning of each for whoever runs this server. */
const OF_USERS: Readonly<Record<string, string>> = {
  'etcdserver: authentication failed, invalid user ID or password':
    'it does not know the user with this password (--farm-user, --farm-password-file)',
  [NO_USER]: 'it has users, and wants one of them (--farm-user, --farm-password-file)',
  'etcdserver: user name not found': 'it does not know the user (--farm-user)',
  'etcdserver: permission denied':
    'its user may not read and write all keys below the prefix of the farm (etcdctl role grant-permission ROLE readwrite PREFIX/ --prefix)',
  'CommonName of client sending a request against gateway will be ignored and not used as expected':
    'together with users it takes only certificates without a common name (--farm-cert)',
  'etcdserver: invalid auth token': 'it does not take the token that it has given',
};

/** Errors of TLS by their codes, or by their texts where Node.js has no code. Nothing is sent before TLS stands. */
const OF_TLS: readonly (readonly [form: RegExp, sentence: string])[] = [
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_UNTRUSTED|CERT_SIGNATURE_FAILURE) /,
    'its certificate is not of the authority that this server trusts (--farm-ca)',
  ],
  [/^(CERT_HAS_EXPIRED|CERT_NOT_YET_VALID) /, 'its certificate has ended, or has not begun'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID /, 'its certificate is for another name than the address has'],
  [
    /^(ERR_SSL_|EPROTO ).*(BAD.CERTIFICATE|CERTIFICATE.REQUIRED|UNKNOWN.CA|CERTIFICATE.UNKNOWN|CERTIFICATE.EXPIRED)/i,
    'it wants a certificate of this server that it knows (--farm-cert, --farm-key)',
  ],
  [
    /^(ERR_SSL_|EPROTO ).*(WRONG.VERSION.NUMBER|PACKET.LENGTH.TOO.LONG)/i,
    'it does not speak TLS (etcd://, not etcds://)',
  ],
];

/** Whether another token may help. */
export function isTokenRefused(error: unknown): boolean {
  return error instanceof EtcdError && (error.code === UNAUTHENTICATED || OF_TOKENS.includes(error.reason));
}

/** Why etcd does not let this server in; undefined for any other error. */
export function accessProblem(error: unknown): string | undefined {
  if (error instanceof EtcdError) {
    const isOfUsers = error.code === PERMISSION_DENIED || error.code === UNAUTHENTICATED;
    return OF_USERS[error.reason] ?? (isOfUsers ? error.reason : undefined);
  }
  const cause = error instanceof Error ? error.cause : undefined;
  return tlsProblem(error) ?? (cause === undefined ? undefined : accessProblem(cause));
}

/** Why there is no TLS with a server, to which nothing was sent therefore. */
export function tlsProblem(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  const text = `${String(error.code)} ${error.message}`;
  return OF_TLS.find(([form]) => form.test(text))?.[1];
}
