/** An address or a prefix to compare octets of a ring with. */

export interface AddressPattern {
  readonly isEther: boolean;
  /** 4 or 6; 0 for Ethernet. */
  readonly version: number;
  readonly matches: (octets: Uint8Array, at: number) => boolean;
}

/** Undefined when the text is no address of that kind. */
export function addressPattern(text: string, isEther: boolean): AddressPattern | undefined {
  if (isEther) {
    const octets = /^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i.test(text)
      ? text.split(/[:-]/).map((part) => parseInt(part, 16))
      : undefined;
    return octets === undefined ? undefined : { isEther, version: 0, matches: prefixTest(octets, 48) };
  }
  const [address = '', length, ...rest] = text.split('/');
  const octets = ipv4Octets(address) ?? ipv6Octets(address);
  if (octets === undefined || rest.length > 0) return undefined;
  const bits = length === undefined ? octets.length * 8 : Number(length);
  if (length !== undefined && !/^\d{1,3}$/.test(length)) return undefined;
  if (bits > octets.length * 8) return undefined;
  return { isEther, version: octets.length === 4 ? 4 : 6, matches: prefixTest(octets, bits) };
}

function prefixTest(wanted: readonly number[], bits: number): AddressPattern['matches'] {
  const whole = bits >>> 3;
  const mask = (0xff << (8 - (bits & 7))) & 0xff;
  return (octets, at) => {
    for (let index = 0; index < whole; index++) if (octets[at + index] !== wanted[index]) return false;
    return mask === 0 || (((octets[at + whole] ?? 0) ^ (wanted[whole] ?? 0)) & mask) === 0;
  };
}

function ipv4Octets(text: string): number[] | undefined {
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return undefined;
  const octets = text.split('.').map(Number);
  return octets.every((octet) => octet < 256) ? octets : undefined;
}

function ipv6Octets(text: string): number[] | undefined {
  if (!/^[0-9a-f:]+$/i.test(text) || !text.includes(':')) return undefined;
  const [before = '', after, ...rest] = text.split('::');
  if (rest.length > 0) return undefined;
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const [start, end] = [groups(before), groups(after ?? '')];
  const missing = 8 - start.length - end.length;
  if (after === undefined ? missing !== 0 : missing < 1) return undefined;
  const all = [...start, ...Array.from({ length: missing }, () => '0'), ...end];
  if (!all.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return all.flatMap((group) => [parseInt(group, 16) >>> 8, parseInt(group, 16) & 0xff]);
}
