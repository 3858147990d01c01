/**
 * Works on so many things at the same time, and begins them in their order. A failure ends it when all that has begun is over;
 * the first one is thrown.
 */
export async function eachAtOnce<Thing>(
  things: readonly Thing[],
  atOnce: number,
  work: (thing: Thing) => Promise<void>,
): Promise<void> {
  const left = things.values();
  const next = async (): Promise<void> => {
    for (const thing of left) await work(thing);
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(atOnce, things.length) }, next));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
