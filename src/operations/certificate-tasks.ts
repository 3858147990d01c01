/** Reads a certificate and its key as a server needs them. Runs in a worker thread. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readLinkedFile } from '../base/disk/linked-file.js';
import type { TaskTable } from '../base/threads/task.js';

/** The paths of a certificate with its chain, and of its key, as PEM. */
export interface CertificatePaths {
  readonly certificate: string;
  readonly key: string;
}

/** A pair that can be used, or the reason why it cannot. */
export interface FoundCertificate {
  readonly paths: CertificatePaths;
  /** Another one after any change of the files; empty when one cannot be read. */
  readonly version: string;
  readonly problem: string | undefined;
  /** The names that it is for, and its end, as Node.js writes them. */
  readonly names: string;
  readonly ends: string;
}

export interface CertificateTasks extends TaskTable {
  readonly readCertificate: (input: CertificatePaths) => FoundCertificate;
}

const LARGEST_FILE = 1024 * 1024;
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

class Unusable extends Error {
  override readonly name = 'Unusable';
}

export const certificateTasks: CertificateTasks = {
  readCertificate(paths) {
    const { certificate, key } = paths;
    let version = '';
    try {
      const chainFile = read(certificate);
      const keyFile = read(key);
      version = `${chainFile.version} ${keyFile.version}`;
      const first = chainOf(chainFile.text, certificate);
      if (!first.checkPrivateKey(keyOf(keyFile.text, key))) {
        throw new Unusable(`the key of ${key} is not that of the certificate in ${certificate}`);
      }
      const names = first.subjectAltName ?? first.subject;
      return { paths, version, problem: undefined, names, ends: first.validTo };
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      return { paths, version, problem: error.message, names: '', ends: '' };
    }
  },
};

function read(path: string): ReturnType<typeof readLinkedFile> {
  return parsed(
    () => readLinkedFile(path, LARGEST_FILE),
    (reason) => `${path} cannot be read (${reason})`,
  );
}

/** The first certificate. Each is followed by that of its issuer, as clients want it. */
function chainOf(text: string, path: string): X509Certificate {
  const chain = (text.match(PEM_CERTIFICATE) ?? []).map((pem, index) => {
    return parsed(
      () => new X509Certificate(pem),
      () => `certificate ${index + 1} of ${path} cannot be read`,
    );
  });
  const [first] = chain;
  if (first === undefined) throw new Unusable(`${path} has no certificate (PEM)`);
  for (const [index, issuer] of chain.slice(1).entries()) {
    if (chain[index]?.checkIssued(issuer) === true) continue;
    throw new Unusable(`certificate ${index + 2} of ${path} is not the issuer of the one before it`);
  }
  return first;
}

function keyOf(text: string, path: string): ReturnType<typeof createPrivateKey> {
  return parsed(
    () => createPrivateKey(text),
    () => `${path} has no private key (PEM) that needs no passphrase`,
  );
}

function parsed<Value>(parse: () => Value, sentenceOf: (reason: string) => string): Value {
  try {
    return parse();
  } catch (error) {
    throw new Unusable(sentenceOf(error instanceof Error ? error.message : String(error)), { cause: error });
  }
}
