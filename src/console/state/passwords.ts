/** Passwords that the console makes: nobody has to think of one, and nobody uses it elsewhere. */

/** 32 characters that look like no others. */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
const LENGTH = 20;
const GROUPS = /(.{5})(?!$)/g;

export function newPassword(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(LENGTH));
  const characters = [...bytes].map((byte) => ALPHABET[byte % ALPHABET.length] ?? '').join('');
  return characters.replace(GROUPS, '$1-');
}
