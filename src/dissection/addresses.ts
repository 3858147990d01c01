/** Addresses as text. All of them read within the octets that they are given. */

const HEX = Array.from({ length: 256 }, (_, octet) => octet.toString(16).padStart(2, '0'));

export function hexText(octets: Uint8Array, at: number, end: number, between = ''): string {
  let text = '';
  for (let index = at; index < Math.min(end, octets.length); index++) {
    text += (index > at ? between : '') + (HEX[octets[index] ?? 0] ?? '');
  }
  return text;
}

export function macText(octets: Uint8Array, at: number): string {
  return hexText(octets, at, at + 6, ':');
}

export function ipv4Text(octets: Uint8Array, at: number): string {
  return Array.from({ length: 4 }, (_, index) => String(octets[at + index] ?? 0)).join('.');
}

/** An IPv6 address as RFC 5952 writes it: the longest row of zeros is left out. */
export function ipv6Text(octets: Uint8Array, at: number): string {
  const groups = Array.from(
    { length: 8 },
    (_, index) => ((octets[at + 2 * index] ?? 0) << 8) | (octets[at + 2 * index + 1] ?? 0),
  );
  let [bestAt, best] = [0, 1];
  for (let index = 0; index < 8; index++) {
    let length = 0;
    while (index + length < 8 && groups[index + length] === 0) length++;
    if (length > best) [bestAt, best] = [index, length];
  }
  const words = groups.map((group) => group.toString(16));
  if (best < 2) return words.join(':');
  return `${words.slice(0, bestAt).join(':')}::${words.slice(bestAt + best).join(':')}`;
}

/** Text of a packet as text to show: what is no printable character becomes a point. */
export function printable(octets: Uint8Array, at: number, end: number): string {
  const text = new TextDecoder().decode(octets.subarray(at, end));
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}\uFFFD]/gu, '.');
}
