/** Whether long work lets others have their turns. */

/** How many turns of the event loop begin until the work is done. */
export async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  let isOver = false;
  const turn = (): void => {
    if (isOver) return;
    count++;
    setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isOver = true;
  return count;
}
