/** What was made of a database, kept until anybody commits more than objects of buckets: then it is made anew. */
import type { Store } from '../driver.js';

interface Kept<Value> {
  state: number;
  readonly values: Map<string, Value>;
}

type Keep<Value> = <Made extends Value | undefined>(store: Store, name: string, make: () => Made) => Made;

/**
 * Returns a function that makes a value, or takes the one that it made under this name in the same state of the database; all that
 * it depends on must be read while it is made, and no object is. Inside of a transaction each is made anew. `most`: values that are kept
 * at once.
 */
export function keptPerState<Value>(most: number): Keep<Value> {
  const known = new WeakMap<Store, Kept<Value>>();
  return <Made extends Value | undefined>(store: Store, name: string, make: () => Made): Made => {
    const state = store.followedState();
    if (state === undefined) return make();
    let kept = known.get(store);
    if (!kept) known.set(store, (kept = { state, values: new Map() }));
    if (kept.state !== state) {
      kept.values.clear();
      kept.state = state;
    }
    const before = kept.values.get(name);
    if (before !== undefined) return before as Made;
    const made = make();
    if (kept.values.size >= most) kept.values.clear();
    if (made !== undefined) kept.values.set(name, made);
    return made;
  };
}
