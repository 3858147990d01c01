/** How a value that does not fit its schema is refused: 400, with the place and the reason. */
import type { z } from 'zod';
import { refusals } from './errors.js';

const SHOWN_ISSUES = 3;

export function parseOrRefuse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  where: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw refusals.badRequest(`JSON schema error in ${where}: ${describeIssues(parsed.error)}`);
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
