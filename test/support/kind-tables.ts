/** Tables of values for the settings of a kind: each is tried alone, and must be accepted or refused. */
import type { Test } from 'tap';
import type { z } from 'zod';

export type Values = readonly unknown[];
/** For each key the values that are taken, and those that are not. */
export type Table = Readonly<Record<string, readonly [accepted: Values, refused: Values]>>;

/** Every key of the schema must be in the table, and no other. */
export function checkTable(t: Test, schema: z.ZodObject, table: Table): void {
  t.same(Object.keys(schema.shape).sort(), Object.keys(table).sort(), 'the table has every key');
  for (const [key, [accepted, refused]] of Object.entries(table)) {
    for (const value of accepted) {
      const parsed = schema.safeParse({ [key]: value });
      t.ok(parsed.success, `${key}: ${shown(value)} is taken`);
    }
    for (const value of refused) {
      t.notOk(schema.safeParse({ [key]: value }).success, `${key}: ${shown(value)} is refused`);
    }
  }
}

function shown(value: unknown): string {
  return JSON.stringify(value).slice(0, 60);
}

export const HUGE = 'x'.repeat(2_000_000);
export const NUMBERS: Values = ['1', 1.5, -1, Number.NaN, true, [], {}];
export const NO_TEXTS: Values = [5, true, [], {}, HUGE];
export const NO_BOOLEANS: Values = ['true', 1, 0, []];

export const TEXT = [
  ['', 'text\nof lines'],
  [null, ...NO_TEXTS],
] as const;
export const NULLABLE_TEXT = [['', 'text\nof lines', null], NO_TEXTS] as const;
export const BOOLEAN = [
  [true, false],
  [null, ...NO_BOOLEANS],
] as const;
export const NULLABLE_BOOLEAN = [[true, false, null], NO_BOOLEANS] as const;

/** Whole numbers from the least to the most. */
export function range(least: number, most: number, ...others: Values): readonly [Values, Values] {
  const refused = [least - 1, most + 1, '1', 1.5, Number.NaN, Infinity, true, [], {}];
  return [[least, most, ...others], others.includes(null) ? refused : [...refused, null]];
}

export function choice(...values: readonly string[]): readonly [Values, Values] {
  return [values, ['no such thing', `${values.join()},`, 1, {}, HUGE]];
}
