/** Items of several classes that are taken in turns: one of each class, then the next of each. */
export interface TurnQueue<Item> {
  readonly size: number;
  /** Adds an item as the last one of its class. */
  add(item: Item): void;
  /** Takes up to `most` items; those of one class in the order in which they came. */
  take(most: number): Item[];
  /** Puts items back, in the order in which they were taken: they are the next. */
  putBack(items: readonly Item[]): void;
}

export function createTurnQueue<Item>(classOf: (item: Item) => string): TurnQueue<Item> {
  /** The class whose turn it is comes first. */
  let queues = new Map<string, Item[]>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    add(item) {
      const name = classOf(item);
      const queue = queues.get(name);
      if (queue) queue.push(item);
      else queues.set(name, [item]);
      size++;
    },
    take(most) {
      const taken: Item[] = [];
      while (taken.length < most && size > 0) {
        const [name, queue] = queues.entries().next().value!;
        queues.delete(name);
        taken.push(queue.shift()!);
        if (queue.length > 0) queues.set(name, queue);
        size--;
      }
      return taken;
    },
    putBack(items) {
      const first = Map.groupBy(items, classOf);
      for (const [name, queue] of queues) first.set(name, [...(first.get(name) ?? []), ...queue]);
      queues = first;
      size += items.length;
    },
  };
}
