/** Work on many items, some of them at the same time. */

/** Calls `work` for each item, in order, no more than `most` at once. Rejects with the first failure when all have ended. */
export async function eachAtOnce<Item>(
  items: Iterable<Item>,
  most: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failure: { readonly error: unknown } | undefined;
  const run = async (): Promise<void> => {
    for (let next = iterator.next(); !next.done && !failure; next = iterator.next()) {
      try {
        await work(next.value);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: most }, run));
  if (failure) throw failure.error;
}

/** Gives other work of this process a turn. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
