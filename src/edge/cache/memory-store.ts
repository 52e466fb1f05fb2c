/**
 * Stored responses in memory, by account. Beyond a limit in octets for all together, the account that has most loses what it has not
 * used for longest: an account that is alone may use all of it.
 */
import { LRUCache } from 'lru-cache';
import type { HeaderFields } from '../../http/fields.js';
import { answers, type StoredResponse } from './stored-response.js';

export interface MemoryStores {
  of(account: number): MemoryStore;
  /** Removes all responses for which `isGone` is true. */
  sweep(isGone: (response: StoredResponse) => boolean): void;
  octets(): number;
  /** URLs. */
  count(): number;
}

/** Those of one account. */
export interface MemoryStore {
  /** The newest stored response that fits the request. */
  find(key: string, request: HeaderFields, always: string): StoredResponse | undefined;
  has(key: string): boolean;
  put(key: string, response: StoredResponse): void;
  /** Replaces one response by another, unless the first one has already been removed. */
  replace(key: string, old: StoredResponse, response: StoredResponse): void;
  remove(key: string, response: StoredResponse): void;
  removeAll(key: string): void;
  /** A response of this key has gained a form. */
  resized(key: string): void;
}

/** Stored responses of one key. */
const MOST_VARIANTS = 64;
/** Approximate octets that a stored response needs in addition to its body and fields. */
const OVERHEAD = 1024;

export function createMemoryStores(maxOctets: number): MemoryStores {
  const accounts = new Map<number, AccountStore>();
  let octets = 0;
  const onChange = (account: number, store: AccountStore, grown: number): void => {
    octets += grown;
    while (octets > maxOctets) richest(accounts.values()).removeOldest();
    if (store.count === 0) accounts.delete(account);
  };
  return {
    of(account) {
      let store = accounts.get(account);
      if (!store) {
        store = new AccountStore(maxOctets, (changed, grown) => onChange(account, changed, grown));
        accounts.set(account, store);
      }
      return store;
    },
    sweep(isGone) {
      for (const store of [...accounts.values()]) store.sweep(isGone);
    },
    octets: () => octets,
    count: () => [...accounts.values()].reduce((sum, { count }) => sum + count, 0),
  };
}

function richest(stores: Iterable<AccountStore>): AccountStore {
  let most: AccountStore | undefined;
  for (const store of stores) if (!most || store.octets > most.octets) most = store;
  return most!;
}

type Variants = readonly StoredResponse[];

class AccountStore implements MemoryStore {
  private readonly variants: LRUCache<string, Variants>;

  /** `onChange` is called with the octets by which it has grown. */
  constructor(
    maxOctets: number,
    private readonly onChange: (store: AccountStore, grown: number) => void,
  ) {
    this.variants = new LRUCache({
      maxSize: maxOctets,
      sizeCalculation: (list, key) => list.reduce((sum, response) => sum + octetsOf(response), key.length),
    });
  }

  get octets(): number {
    return this.variants.calculatedSize;
  }

  get count(): number {
    return this.variants.size;
  }

  find(key: string, request: HeaderFields, always: string): StoredResponse | undefined {
    return this.variants.get(key)?.find((response) => answers(response, request, always));
  }

  has(key: string): boolean {
    return this.variants.has(key);
  }

  put(key: string, response: StoredResponse): void {
    const others = (this.variants.peek(key) ?? []).filter((other) => !isSameVariant(other, response));
    this.set(key, [response, ...others].slice(0, MOST_VARIANTS));
  }

  replace(key: string, old: StoredResponse, response: StoredResponse): void {
    const list = this.variants.peek(key) ?? [];
    if (list.includes(old)) this.set(key, [response, ...list.filter((other) => other !== old)]);
  }

  remove(key: string, response: StoredResponse): void {
    const list = this.variants.peek(key) ?? [];
    const kept = list.filter((other) => other !== response);
    if (kept.length < list.length) this.set(key, kept);
  }

  removeAll(key: string): void {
    this.set(key, []);
  }

  resized(key: string): void {
    const list = this.variants.peek(key);
    if (list) this.set(key, [...list]);
  }

  removeOldest(): void {
    this.change(() => void this.variants.pop());
  }

  sweep(isGone: (response: StoredResponse) => boolean): void {
    for (const [key, list] of [...this.variants.entries()]) {
      const kept = list.filter((response) => !isGone(response));
      if (kept.length < list.length) this.set(key, kept);
    }
  }

  private set(key: string, list: Variants): void {
    this.change(() => {
      if (list.length === 0) this.variants.delete(key);
      else this.variants.set(key, list);
    });
  }

  private change(run: () => void): void {
    const before = this.octets;
    run();
    this.onChange(this, this.octets - before);
  }
}

function isSameVariant(a: StoredResponse, b: StoredResponse): boolean {
  if (a.always !== b.always || a.selecting.length !== b.selecting.length) return false;
  return a.selecting.every(([name, value], i) => b.selecting[i]![0] === name && b.selecting[i]![1] === value);
}

function octetsOf({ fields, body, representation, forms }: StoredResponse): number {
  let octets = OVERHEAD + representation.size + body.length * 64 + forms.octets;
  for (const name in fields) octets += name.length + String(fields[name]).length;
  return octets;
}
