/**
 * Passwords by scrypt: each hash or check takes 0.15 s of a core and 32 MiB on purpose, so that a stolen store does not
 * give them away.
 */
import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';

const LN = 15;
const BLOCK = 8;
const LANES = 1;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Node refuses scrypt that needs more memory; N=32768 with r=8 needs 32 MiB and a little. */
const MOST_MEMORY = 64 * 1024 * 1024;
const FORM = /^\$scrypt\$ln=15,r=8,p=1\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

export const passwordTasks = {
  hashPassword({ password }: { readonly password: string }): string {
    const salt = randomBytes(SALT_BYTES);
    return `$scrypt$ln=${LN},r=${BLOCK},p=${LANES}$${textOf(salt)}$${textOf(derive(password, salt))}`;
  },

  /** A check without a hash takes as long as any other, so that its time does not tell that there is none. */
  checkPassword({ password, hash }: { readonly password: string; readonly hash: string | null }): boolean {
    const [, salt = '', wanted = ''] = FORM.exec(hash ?? '') ?? [];
    const found = derive(password, salt === '' ? randomBytes(SALT_BYTES) : Buffer.from(salt, 'base64'));
    return wanted !== '' && timingSafeEqual(found, Buffer.from(wanted, 'base64'));
  },
};

export type PasswordTasks = typeof passwordTasks;

function derive(password: string, salt: Buffer): Buffer {
  return scryptSync(password, salt, HASH_BYTES, { N: 2 ** LN, r: BLOCK, p: LANES, maxmem: MOST_MEMORY });
}

function textOf(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
