/** The fields of a described packet, with the octets that each stands for. */

export interface PacketField {
  readonly id: string;
  readonly name: string;
  /** The text to show. */
  readonly text: string;
  readonly value: number | string;
  readonly at: number;
  readonly length: number;
}

export interface PacketLayer {
  readonly protocol: string;
  readonly title: string;
  summary: string;
  readonly at: number;
  length: number;
  readonly fields: PacketField[];
}

/** Words for some numbers, or a way to make them. */
export type Words = Readonly<Record<number, string>> | ((value: number) => string);

export function worded(value: number, words: Words): string {
  if (typeof words === 'function') return words(value);
  const word = words[value];
  return word === undefined ? String(value) : `${word} (${value})`;
}
