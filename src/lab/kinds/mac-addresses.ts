/** The MAC addresses of the adapters of a node. */
const ADDRESSES = 2 ** 48;
const MAC = /^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$/;

/** The six digits of a node's id that its default addresses are made of, in pairs. */
export function pairsOfId(nodeId: string): string {
  const digits = nodeId.toLowerCase().slice(2, 8);
  return /^[0-9a-f]{6}$/.test(digits) ? digits.replace(/(..)(..)(..)/, '$1:$2:$3') : '00:00:00';
}

/** The address that is so many after the first one. */
export function addressAfter(first: string, index: number): string {
  const number = (Number.parseInt(first.replaceAll(':', ''), 16) + index) % ADDRESSES;
  const digits = number.toString(16).padStart(12, '0');
  return digits.replace(/(..)(?=.)/g, '$1:');
}

export function isAddress(value: unknown): value is string {
  return typeof value === 'string' && MAC.test(value);
}
