/**
 * The Berkeley packet filter as its manual describes it, one instruction after the other: what generated code is
 * compared with. It takes codes apart by their bits, and shares nothing with the generator.
 */
export function interpretBpf(
  numbers: Uint32Array,
  bytes: Uint8Array,
  offset: number,
  length: number,
): boolean {
  const packet = bytes.subarray(offset, offset + length);
  const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  const scratch = new Uint32Array(16);
  const a = new Uint32Array(1);
  const x = new Uint32Array(1);
  const set = (register: Uint32Array, value: number): void => {
    register[0] = value;
  };
  const get = (register: Uint32Array): number => register[0] ?? 0;
  for (let at = 0, steps = 0; steps < 10_000; steps++) {
    const [code = 0, jumpTrue = 0, jumpFalse = 0, k = 0] = numbers.subarray(at * 4, at * 4 + 4);
    at++;
    const operand = (code & 0x08) === 0 ? k : get(x);
    switch (code & 0x07) {
      case 0:
      case 1: {
        const value = loaded(view, code, k, get(x), scratch);
        if (value === undefined) return false;
        set((code & 0x07) === 0 ? a : x, value);
        break;
      }
      case 2:
        scratch[k] = get(a);
        break;
      case 3:
        scratch[k] = get(x);
        break;
      case 4: {
        const value = calculated(code & 0xf0, get(a), operand);
        if (value === undefined) return false;
        set(a, value);
        break;
      }
      case 5:
        if ((code & 0xf0) === 0) at += k;
        else at += compared(code & 0xf0, get(a), operand) ? jumpTrue : jumpFalse;
        break;
      case 6:
        return ((code & 0x18) === 0x10 ? get(a) : k) !== 0;
      default:
        if ((code & 0x80) === 0) set(x, get(a));
        else set(a, get(x));
    }
  }
  throw new Error('the program does not end');
}

function loaded(
  view: DataView,
  code: number,
  k: number,
  x: number,
  scratch: Uint32Array,
): number | undefined {
  switch (code & 0xe0) {
    case 0x00:
      return k;
    case 0x20:
      return fromPacket(view, code & 0x18, k);
    case 0x40:
      return fromPacket(view, code & 0x18, x + k);
    case 0x60:
      return scratch[k] ?? 0;
    case 0x80:
      return view.byteLength;
    default: {
      const octet = fromPacket(view, 0x10, k);
      return octet === undefined ? undefined : (octet & 0x0f) * 4;
    }
  }
}

function fromPacket(view: DataView, size: number, at: number): number | undefined {
  const octets = size === 0 ? 4 : size === 0x08 ? 2 : 1;
  if (at + octets > view.byteLength) return undefined;
  if (octets === 4) return view.getUint32(at);
  return octets === 2 ? view.getUint16(at) : view.getUint8(at);
}

/** BigInt, so that nothing here depends on how numbers wrap around. */
function calculated(operation: number, left: number, right: number): number | undefined {
  const a = BigInt(left);
  const b = BigInt(right);
  const results: Readonly<Record<number, () => bigint>> = {
    0x00: () => a + b,
    0x10: () => a - b,
    0x20: () => a * b,
    0x30: () => a / b,
    0x40: () => a | b,
    0x50: () => a & b,
    0x60: () => (b < 32n ? a << b : 0n),
    0x70: () => (b < 32n ? a >> b : 0n),
    0x80: () => -a,
    0x90: () => a % b,
    0xa0: () => a ^ b,
  };
  if ((operation === 0x30 || operation === 0x90) && b === 0n) return undefined;
  const result = results[operation];
  if (result === undefined) throw new Error(`there is no operation ${operation}`);
  return Number(BigInt.asUintN(32, result()));
}

function compared(operation: number, a: number, b: number): boolean {
  if (operation === 0x10) return a === b;
  if (operation === 0x20) return a > b;
  if (operation === 0x30) return a >= b;
  return (BigInt(a) & BigInt(b)) !== 0n;
}
