/** `wirefarm keeper`: becomes the keeper of the programs, in this very process. */

/** The entry of the keeper reads the command line itself. */
export async function keeper(): Promise<void> {
  process.argv.splice(2, 1);
  await import(new URL('../server/keeper-main.js', import.meta.url).href);
}
