/** Does something `count` times, so many at the same time. `work` gets the number of each, from 0 on. */
export async function atOnce(places: number, count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const some = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: places }, some));
}
