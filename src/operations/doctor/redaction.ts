/**
 * Takes secrets out of text for people who are asked for help. It knows what is secret by its form and by the words before
 * it, and takes rather too much than too little. Pure.
 */

const MASK = '***';

/** Forms of secrets. What is kept of a match is its first group. */
const FORMS: readonly RegExp[] = [
  // Private keys, also in one line of JSON, and one whose end is missing.
  /(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)[^-]*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?/g,
  // Tokens of this server.
  /(wf_[0-9a-f]{8}_)[\w-]{43}/g,
  // Digests of passwords.
  /(\$(?:scrypt|argon2id|[1568y]|2[aby])\$)[\w./+=,$-]+/g,
  // Names and passwords in addresses.
  /(\w:\/\/)[^\s/@"]{1,200}@/g,
  /\b((?:basic|bearer)[ \t]+)[\w+/.~-]{4,}=*/gi,
  // Cookies and tickets.
  /\b((?:wf_session|ticket)=)[^\s&;"'\\]+/gi,
  // Values of keys, in JSON, in JSON within JSON, and in lines of settings.
  /((?:password|passwd|passphrase|secret|token|cookie|authorization|credentials?|private_?key|api_?key|iourc_content)[\w-]{0,40}\\?"?[ \t]{0,9}[:=][ \t]{0,9}(?=[^\s:=]))(?:\\?"[^"\\]*|[^\s,;&"\\]+)/gi,
  // Commands of routers.
  /\b((?:password|secret|community|key-string)[ \t]+(?:\d[ \t]+)?)[^\s"\\]+/gi,
];
/** Lines of keys and certificates without their head. Digests are hexadecimal. */
const BLOCK = /[A-Za-z0-9+/]{60,}={0,2}/g;
const DIGEST = /^[0-9a-f]+$/;
/** A shorter secret would be found in every other word. */
const SHORTEST_KNOWN = 4;

/** The text without secrets. `known` are some that the settings have. */
export function redacted(text: string, known: readonly string[]): string {
  let clean = text;
  for (const secret of known.flatMap(spellings))
    if (secret.length >= SHORTEST_KNOWN) clean = clean.replaceAll(secret, MASK);
  for (const form of FORMS) clean = clean.replace(form, `$1${MASK}`);
  return clean.replace(BLOCK, (block) => (DIGEST.test(block) ? block : MASK));
}

/** The ways in which logs and URLs write a text. */
function spellings(secret: string): string[] {
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
}
