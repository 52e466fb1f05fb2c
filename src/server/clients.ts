/** Whom a newcomer displaces where there is no room: nobody can keep others out by holding what all share. */

/** All that the client has who has most of them; of several such clients, what all of these have. `of`: see base/ip.ts, clientNetwork. */
export function ofLargestClient<Held>(all: Iterable<Held>, of: (held: Held) => string): Held[] {
  const clients = Map.groupBy(all, of);
  let most = 0;
  for (const { length } of clients.values()) most = Math.max(most, length);
  return [...clients.values()].filter(({ length }) => length === most).flat();
}
