/** Results of pure functions of short texts, which come again and again: names, addresses, credentials. */
import { detachedText } from './bytes.js';

/** Longer texts are not kept. */
const LONGEST = 256;

/** The same function, with up to `most` of its results kept; all of them are dropped when there is no more room. */
export function remembered<Value>(most: number, make: (text: string) => Value): (text: string) => Value {
  const known = new Map<string, Value>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (text.length > LONGEST) return make(text);
    const own = detachedText(text);
    const made = make(own);
    if (known.size >= most) known.clear();
    known.set(own, made);
    return made;
  };
}
