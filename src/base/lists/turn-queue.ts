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

/** Items of classes that are divided: one of each class in turn, and in each class one of each part of it. */
export function createDividedTurnQueue<Item>(
  classOf: (item: Item) => string,
  partOf: (item: Item) => string,
): Pick<TurnQueue<Item>, 'size' | 'add' | 'take'> {
  /** Each name stands for one item that waits in the queue of its class. */
  const turns = createTurnQueue<string>((name) => name);
  const queues = new Map<string, TurnQueue<Item>>();
  return {
    get size() {
      return turns.size;
    },
    add(item) {
      const name = classOf(item);
      let queue = queues.get(name);
      if (!queue) queues.set(name, (queue = createTurnQueue(partOf)));
      queue.add(item);
      turns.add(name);
    },
    take: (most) =>
      turns.take(most).map((name) => {
        const queue = queues.get(name)!;
        const [item] = queue.take(1);
        if (queue.size === 0) queues.delete(name);
        return item!;
      }),
  };
}
