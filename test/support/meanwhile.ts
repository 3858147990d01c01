/** Does something again and again for as long as the work takes, and at least so often; returns how often. */
export async function meanwhile(
  work: Promise<unknown>,
  again: (round: number) => Promise<unknown>,
  least = 1,
): Promise<number> {
  const state = { isOver: false };
  const end = (): void => {
    state.isOver = true;
  };
  work.then(end, end);
  let rounds = 0;
  while (!state.isOver || rounds < least) await again(rounds++);
  await work;
  return rounds;
}
