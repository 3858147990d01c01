/** Certificates for an etcd and its clients, made by openssl. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EtcdFiles } from './etcd.js';

/** etcd calls itself for its JSON gateway, so its certificate is one of a client, too. */
const EXTENSIONS = 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n';

export function etcdCertificates(folder: string): EtcdFiles {
  const openssl = (...args: readonly string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  };
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const paths = (name: string): { certificate: string; key: string } => ({
    certificate: join(folder, `${name}.pem`),
    key: join(folder, `${name}.key`),
  });
  writeFileSync(join(folder, 'extensions'), EXTENSIONS);
  openssl('req', '-x509', ...made, '-subj', '/CN=authority', '-keyout', 'ca.key', '-out', 'ca.pem');
  for (const name of ['server', 'client']) {
    // Where etcd has users, its gateway takes no certificate of a client with a common name.
    openssl(
      'req',
      ...made,
      '-subj',
      name === 'client' ? '/O=wirefarm' : `/CN=${name}`,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
    );
    const signer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'extensions'];
    openssl('x509', '-req', '-in', `${name}.csr`, ...signer, '-out', `${name}.pem`);
  }
  return { authority: join(folder, 'ca.pem'), server: paths('server'), client: paths('client') };
}
