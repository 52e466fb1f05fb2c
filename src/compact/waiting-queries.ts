/** Queries that wait until something can be signed: in turns by account, and within an account by zone. */
import type { InRow, Row } from '../base/lists/row.js';
import { ClassedQueue, type TurnClass } from '../base/turn-classes.js';

/** The most that wait; where others have come, whoever has most of them loses one for each of theirs. */
const MOST_WAITING = 500;

export interface WaitingQueries<Query> {
  readonly size: number;
  /** Returns what has no room: a query of whoever has most, or this one. */
  add(account: number, zone: string, query: Query): Query | undefined;
  /** Shows each query to `answer`, which says whether it is done with. `isAlone`: nobody waits but the same account. */
  each(answer: (query: Query, isAlone: boolean) => boolean): void;
  takeAll(): Query[];
}

class Waiting<Query> implements InRow<Waiting<Query>> {
  row: Row<Waiting<Query>> | undefined;
  before: Waiting<Query> | undefined;
  after: Waiting<Query> | undefined;

  constructor(
    readonly at: TurnClass<Waiting<Query>>,
    readonly query: Query,
  ) {}
}

export function createWaitingQueries<Query>(): WaitingQueries<Query> {
  const bounds = { places: Number.POSITIVE_INFINITY, waiting: MOST_WAITING };
  const queue = new ClassedQueue<Waiting<Query>>(bounds, [bounds, bounds]);
  const { root } = queue;
  const remove = (waiting: Waiting<Query>): Query => {
    queue.remove(waiting.at, waiting);
    return waiting.query;
  };
  return {
    get size() {
      return root.waiting;
    },
    add(account, zone, query) {
      const at = queue.classOf([String(account), zone]);
      const other = queue.inTheWay(at);
      const displaced = other && remove(other);
      if (other) queue.forget(other.at);
      if (at.hasWaitingRoom()) {
        queue.add(at, new Waiting(at, query));
        return displaced;
      }
      queue.forget(at);
      return query;
    },
    each(answer) {
      const isAlone = root.wanting.size <= 1;
      const left: Waiting<Query>[] = [];
      const done = new Set<Waiting<Query>['at']>();
      for (let at = root.next(); at; at = root.next()) {
        const waiting = at.items.first!;
        if (answer(remove(waiting), isAlone)) {
          queue.hold(at);
          queue.release(at);
          done.add(at);
        } else left.push(waiting);
      }
      for (const waiting of left) queue.add(waiting.at, waiting);
      for (const at of done) queue.forget(at);
    },
    takeAll() {
      const all: Query[] = [];
      this.each((query) => all.push(query) > 0);
      return all;
    },
  };
}
