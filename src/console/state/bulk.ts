/** One call for each of several things. */
import { send, type Call } from '../api/call.js';
import { failed, sentenceOf } from './toasts.js';

/** So many at once: more would wait in the browser. */
const AT_ONCE = 4;

/** Failures are told by the name of the thing; the others are done nevertheless. */
export async function sendEach<Thing>(
  things: readonly Thing[],
  callFor: (thing: Thing) => Call<unknown>,
  nameOf: (thing: Thing) => string,
): Promise<void> {
  const waiting = [...things];
  const work = async (): Promise<void> => {
    for (let thing = waiting.shift(); thing !== undefined; thing = waiting.shift()) {
      try {
        await send(callFor(thing));
      } catch (error) {
        failed(new Error(`${nameOf(thing)}: ${sentenceOf(error)}`));
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** Sends one call, and resolves with whether it was done. A refusal is told in the server's words. */
export async function succeeds<Answer>(
  call: Call<Answer>,
  onDone: (answer: Answer) => void,
): Promise<boolean> {
  try {
    onDone(await send(call));
    return true;
  } catch (error) {
    failed(error);
    return false;
  }
}
