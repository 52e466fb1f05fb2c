/**
 * What several owners, such as accounts, keep in memory, up to a bound for all of them together. Beyond it, the owner that has most loses
 * what it has not used for longest: one that is alone may use all of it, and none drives out what another one uses.
 */
import { type InRow, Row } from './row.js';

interface Entry<Owner, Key, Value> extends InRow<Entry<Owner, Key, Value>> {
  readonly key: Key;
  readonly value: Value;
  readonly size: number;
  readonly own: Owned<Owner, Key, Value>;
}

interface Owned<Owner, Key, Value> {
  readonly owner: Owner;
  size: number;
  /** In the order of their use. */
  readonly entries: Row<Entry<Owner, Key, Value>>;
}

export class FairCache<Owner, Key, Value> {
  private readonly entries = new Map<Key, Entry<Owner, Key, Value>>();
  private readonly owners = new Map<Owner, Owned<Owner, Key, Value>>();
  private held = 0;
  /** Who has most, unless it has less than {@link others} by now. */
  private lead: Owned<Owner, Key, Value> | undefined;
  /** None of the others has more: to look through all of them takes too long for each that comes. */
  private others = 0;

  /** `most`: of the sizes of all. `onDropped`: called with what has lost its place to others. */
  constructor(
    private readonly most: number,
    private readonly onDropped?: (value: Value) => void,
  ) {}

  /** Of all together. */
  get size(): number {
    return this.held;
  }

  get count(): number {
    return this.entries.size;
  }

  sizeOf(owner: Owner): number {
    return this.owners.get(owner)?.size ?? 0;
  }

  /** Notes its use. */
  get(key: Key): Value | undefined {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    const { entries } = entry.own;
    if (entry.after) {
      entries.delete(entry);
      entries.add(entry);
    }
    return entry.value;
  }

  /** Does not count as a use. */
  peek(key: Key): Value | undefined {
    return this.entries.get(key)?.value;
  }

  /** What is larger than all may be is not kept. */
  set(owner: Owner, key: Key, value: Value, size = 1): void {
    this.delete(key);
    if (size > this.most) return;
    const own = this.ownedBy(owner);
    const entry = { key, value, size, own, row: undefined, before: undefined, after: undefined };
    this.entries.set(key, entry);
    own.entries.add(entry);
    own.size += size;
    this.held += size;
    this.noteGrowth(own);
    while (this.held > this.most) this.dropOldest(this.richest());
  }

  delete(key: Key): void {
    const entry = this.entries.get(key);
    if (entry) this.remove(entry);
  }

  clear(): void {
    this.entries.clear();
    this.owners.clear();
    this.held = 0;
    this.lead = undefined;
    this.others = 0;
  }

  keys(): IterableIterator<Key> {
    return this.entries.keys();
  }

  *values(): IterableIterator<Value> {
    for (const { value } of this.entries.values()) yield value;
  }

  private ownedBy(owner: Owner): Owned<Owner, Key, Value> {
    let own = this.owners.get(owner);
    if (!own) {
      own = { owner, size: 0, entries: new Row() };
      this.owners.set(owner, own);
    }
    return own;
  }

  private dropOldest({ entries }: Owned<Owner, Key, Value>): void {
    const oldest = entries.first!;
    this.remove(oldest);
    this.onDropped?.(oldest.value);
  }

  private remove(entry: Entry<Owner, Key, Value>): void {
    const { own, key, size } = entry;
    this.entries.delete(key);
    own.entries.delete(entry);
    own.size -= size;
    this.held -= size;
    if (own.entries.first) return;
    this.owners.delete(own.owner);
    if (this.lead === own) this.lead = undefined;
  }

  private noteGrowth(own: Owned<Owner, Key, Value>): void {
    const { lead } = this;
    if (own === lead) return;
    const most = lead?.size ?? this.others;
    if (own.size <= most) this.others = Math.max(this.others, own.size);
    else {
      this.others = Math.max(this.others, most);
      this.lead = own;
    }
  }

  /** Of several that have most, not the one that has come last: where all have as much, nobody would get a place any more. */
  private richest(): Owned<Owner, Key, Value> {
    if (this.lead && this.lead.size >= this.others) return this.lead;
    let lead: Owned<Owner, Key, Value> | undefined;
    let others = 0;
    for (const own of this.owners.values()) {
      // None of the rest has more.
      if (own.size >= this.others) return (this.lead = own);
      if (lead && own.size <= lead.size) others = Math.max(others, own.size);
      else {
        others = lead?.size ?? 0;
        lead = own;
      }
    }
    this.others = others;
    this.lead = lead;
    return lead!;
  }
}
