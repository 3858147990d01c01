/** Checks values against schemas, and says in words why one does not fit. */
import { z } from 'zod';
import { refusals, type Fault } from './errors.js';

const SHOWN_ISSUES = 3;
const MOST_FAULTS = 20;

/** A value as its schema has it, or why it does not fit. */
type Fitted<Value> =
  | { readonly success: true; readonly data: Value; readonly error?: undefined }
  | { readonly success: false; readonly data?: undefined; readonly error: z.ZodError };

/** Refuses (400) a value that does not fit the schema, with the field and the reason. */
export function parseOrRefuse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  where: string,
): z.output<Schema> {
  const parsed = fitted(schema, value);
  if (parsed.success) return parsed.data;
  throw refusals.schemaViolated(`in ${where}`, describeIssues(parsed.error));
}

/**
 * The value as the schema has it, or why it does not fit; for values of clients. The library compares the length of what
 * should be a text even when it is none, and throws when that length is an object which becomes no number.
 */
export function fitted<Schema extends z.ZodType>(schema: Schema, value: unknown): Fitted<z.output<Schema>> {
  try {
    return schema.safeParse(value);
  } catch (error) {
    const path = pathOfOddLength(value);
    if (path === undefined) throw error;
    const issue = {
      code: 'custom',
      path,
      message: 'Invalid input: this is no length',
      input: value,
    } as const;
    return { success: false, error: new z.ZodError([issue]) };
  }
}

function pathOfOddLength(value: unknown): string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, item] of Object.entries(value as Readonly<Record<string, unknown>>)) {
    if (typeof item !== 'object' || item === null) continue;
    if (key === 'length' || key === 'size') return [key];
    const below = pathOfOddLength(item);
    if (below !== undefined) return [key, ...below];
  }
  return undefined;
}

interface JsonShape {
  /** How deep brackets nest. */
  readonly depth: number;
  /** The members of the object that has most of them. */
  readonly members: number;
  /** The time that it takes to parse and to forget all of it, in times of a number. */
  readonly cost: number;
}

/** An object of a form that was not seen before is as dear as so many numbers, and each might be one. */
const COST_OF_OBJECT = 4;

/** Tells from what stands outside of strings how deep, how wide and how dear a JSON text is at most. */
export function jsonShape(text: string): JsonShape {
  const commas: number[] = [];
  let depth = 0;
  let most = 0;
  let cost = 1;
  let isInString = false;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case 0x22: // "
        isInString = !isInString;
        break;
      case 0x5c: // backslash
        index++;
        break;
      case 0x5b: // [
        if (isInString) break;
        cost++;
        commas.push(-Infinity);
        depth = Math.max(depth, commas.length);
        break;
      case 0x7b: // {
        if (isInString) break;
        cost += COST_OF_OBJECT;
        commas.push(0);
        depth = Math.max(depth, commas.length);
        break;
      case 0x2c: // ,
        if (isInString) break;
        cost++;
        commas.push((commas.pop() ?? -Infinity) + 1);
        most = Math.max(most, commas.at(-1) ?? 0);
        break;
      case 0x3a: // :
        if (!isInString) cost++;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        if (!isInString) commas.pop();
        break;
    }
  }
  return { depth, members: most + 1, cost };
}

/** The first few issues, each as `field: reason`. */
export function describeIssues(error: z.ZodError): string {
  const shown = error.issues.slice(0, SHOWN_ISSUES).map(({ path, message }) => {
    const field = path.map(String).join('.');
    return field === '' ? message : `${field}: ${message}`;
  });
  const more = error.issues.length - shown.length;
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

/** The first issues, each with the place in the value. */
export function faultsOf(error: z.ZodError): Fault[] {
  return error.issues.slice(0, MOST_FAULTS).map(({ path, message }) => ({
    path: path.map((part) => (typeof part === 'symbol' ? String(part) : part)),
    reason: message,
  }));
}
