/** What a judgement may know of other names: what our own zones hold. Nobody is asked. */

export interface KnownNames {
  /**
   * The texts of the TXT records at a name (lower case, without the final dot), the strings of each joined, one character for
   * each octet. Undefined: it is not known here what is there.
   */
  texts(name: string): readonly string[] | undefined;
  /** How many addresses or MX records are at a name; an alias counts as an address. Undefined: not known here. */
  count(name: string, what: 'address' | 'mx'): number | undefined;
}

/** How much of other records is read for one judge. */
export interface Budget {
  readonly names: number;
  readonly octets: number;
}

/** The same with every answer kept, and a limit: behind it, nothing is known. */
export function remembered(known: KnownNames, most: Budget): KnownNames {
  const texts = new Map<string, readonly string[] | undefined>();
  const counts = new Map<string, number | undefined>();
  let octets = 0;
  const isSpent = (): boolean => octets > most.octets || texts.size + counts.size > most.names;
  return {
    texts(name) {
      if (!texts.has(name)) {
        if (isSpent()) return undefined;
        const found = known.texts(name);
        for (const text of found ?? []) octets += text.length;
        texts.set(name, found);
      }
      return texts.get(name);
    },
    count(name, what) {
      const key = `${what} ${name}`;
      if (!counts.has(key)) {
        if (isSpent()) return undefined;
        counts.set(key, known.count(name, what));
      }
      return counts.get(key);
    },
  };
}
