/** Several requests, one after the other. */

/** Requests that are on their way at the same time: the server works while an answer is taken over. */
const AT_ONCE = 2;

/** Asks for each item, and yields it with its answer in the order of the items. Throws the first failure in that order. */
export async function* answersInOrder<Item, Result>(
  items: readonly Item[],
  ask: (item: Item) => Promise<Result>,
): AsyncGenerator<readonly [item: Item, answer: Result]> {
  const asked: Promise<Result>[] = [];
  let next = 0;
  const askMore = (): void => {
    for (; asked.length < AT_ONCE && next < items.length; next++) {
      const answer = ask(items[next]!);
      // After the first failure, nobody waits for later answers.
      answer.catch(() => {});
      asked.push(answer);
    }
  };
  for (const item of items) {
    askMore();
    const answer = await asked.shift()!;
    askMore();
    yield [item, answer];
  }
}
