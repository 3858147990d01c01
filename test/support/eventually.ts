/** Waiting for what nothing announces: the state of files and processes. */
import { patience } from './patience.js';
const TRIES = patience(2400);
const BETWEEN_MS = 50;

/** Looks again and again until there is an answer; fails after two minutes, or a multiple of them on a loaded machine. */
export async function eventually<Found>(
  what: string,
  look: () => Found | undefined | Promise<Found | undefined>,
): Promise<Found> {
  for (let tries = 0; tries < TRIES; tries++) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
  }
  throw new Error(`never happened: ${what}`);
}
