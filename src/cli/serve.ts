/** `wirefarm serve`: becomes the server, in this very process. */

/** The entry of the server reads the command line itself, and ends the process. */
export async function serve(): Promise<void> {
  process.argv.splice(2, 1);
  await import(new URL('../server/main.js', import.meta.url).href);
}
