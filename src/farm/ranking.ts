/**
 * The order in which servers should have a scope, by rendezvous hashing: servers that know of the same ones find the same
 * order without talking, and the loss of one moves no scope of the others. Pure.
 */

/** The first should have the scope. */
export function ranking(scope: string, servers: Iterable<string>): string[] {
  return [...servers]
    .map((server) => ({ server, weight: weightOf(`${server}\0${scope}`) }))
    .sort((a, b) => b.weight - a.weight || (a.server < b.server ? -1 : 1))
    .map(({ server }) => server);
}

/** FNV-1a of the text, with its bits mixed as MurmurHash does at its end. */
function weightOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
