/** Checks a body with long lists in slices, so that the HTTP thread answers others meanwhile. */
import { z } from 'zod';
import { describeIssues, faultsOf, fitted } from '../base/errors/validation.js';
import type { CheckedBody } from '../http/route.js';
import { Slices } from '../lab/projects/slices.js';

interface LongList {
  readonly element: z.ZodType;
  readonly most: number;
}

/**
 * Parses the elements of these lists one by one, and the rest of the body by the schema, which sees the lists empty. The first
 * element that does not fit ends it.
 */
export async function checkLongBody(
  schema: z.ZodObject,
  lists: Readonly<Record<string, LongList>>,
  body: unknown,
): Promise<CheckedBody> {
  const given = z.record(z.string(), z.unknown()).safeParse(body).data ?? {};
  const long = Object.entries(lists).filter(([name]) => Array.isArray(given[name]));
  const rest = fitted(schema, long.length === 0 ? body : { ...given, ...emptied(long) });
  if (!rest.success) return { issues: describeIssues(rest.error), faults: faultsOf(rest.error) };
  const slices = new Slices();
  const data: Record<string, unknown> = { ...rest.data };
  for (const [name, { element, most }] of long) {
    const values = given[name] as readonly unknown[];
    if (values.length > most) return unfit([name], `Too big: expected array to have <=${most} items`);
    const parsed: unknown[] = [];
    for (const [index, value] of values.entries()) {
      await slices.rest();
      const { data: fit, error } = fitted(element, value);
      const issue = error?.issues[0];
      if (issue !== undefined) return unfit([name, index, ...issue.path.map(String)], issue.message);
      parsed.push(fit);
    }
    data[name] = parsed;
  }
  return { data };
}

function emptied(lists: readonly (readonly [string, LongList])[]): Record<string, readonly never[]> {
  return Object.fromEntries(lists.map(([name]) => [name, []]));
}

function unfit(path: (string | number)[], reason: string): CheckedBody {
  return { issues: `${path.join('.')}: ${reason}`, faults: [{ path, reason }] };
}
