/** The time of day. */

export function timeFromNow(milliseconds: number): string {
  return new Date(Date.now() + milliseconds).toISOString();
}
