/**
 * Sides that are compared take turns: in one order, and in the next round in the other. One turn of each comes first
 * that does not count: it is told as round 0, and finds memory and threads as the later ones have them.
 */
export async function inTurn<Side, Result>(
  sides: readonly Side[],
  rounds: number,
  measure: (side: Side, round: number) => Promise<Result>,
): Promise<ReadonlyMap<Side, readonly Result[]>> {
  const results = new Map<Side, Result[]>(sides.map((side) => [side, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const result = await measure(side, round);
      if (round > 0) results.get(side)?.push(result);
    }
  }
  return results;
}
