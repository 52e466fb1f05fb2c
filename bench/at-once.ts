/** Calls `work` `count` times, up to `places` calls at the same time. `work` gets the number of its call, starting at 0. */
export async function atOnce(places: number, count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const some = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: places }, some));
}
