/**
 * Stored responses in memory. Beyond a limit in octets for all together, the account that has most loses what it has not used for longest.
 */
import { FairCache } from '../../base/lists/fair-cache.js';
import type { HeaderFields } from '../../http/fields.js';
import { answers, type StoredResponse } from './stored-response.js';

/** Accounts have different keys. */
export interface MemoryStore {
  /** The newest stored response that fits the request. */
  find(key: string, request: HeaderFields, always: string): StoredResponse | undefined;
  has(key: string): boolean;
  put(account: number, key: string, response: StoredResponse): void;
  /** Replaces one response by another, unless the first one has already been removed. */
  replace(account: number, key: string, old: StoredResponse, response: StoredResponse): void;
  remove(account: number, key: string, response: StoredResponse): void;
  removeAll(key: string): void;
  /** A response of this key has gained a form. */
  resized(account: number, key: string): void;
  /** Removes responses for which `isGone` is true, in steps. It may miss what is stored meanwhile. */
  sweep(isGone: (response: StoredResponse) => boolean): Generator<undefined, void>;
  octets(): number;
  /** URLs. */
  count(): number;
}

/** Stored responses of one key. */
const MOST_VARIANTS = 64;
/** Approximate octets that a stored response needs in addition to its body and fields. */
const OVERHEAD = 1024;
/** The same of one text beside the response: a tag, or a field that selects. */
const OVERHEAD_OF_TEXT = 48;

interface Variants {
  readonly account: number;
  readonly list: readonly StoredResponse[];
}

const NONE: readonly StoredResponse[] = [];

export function createMemoryStore(maxOctets: number): MemoryStore {
  const kept = new FairCache<number, string, Variants>(maxOctets);
  const listOf = (key: string): readonly StoredResponse[] => kept.peek(key)?.list ?? NONE;
  const set = (account: number, key: string, list: readonly StoredResponse[]): void => {
    if (list.length === 0) kept.delete(key);
    else kept.set(account, key, { account, list }, sizeOf(key, list));
  };
  return {
    find: (key, request, always) => kept.get(key)?.list.find((response) => answers(response, request, always)),
    has: (key) => kept.peek(key) !== undefined,
    put(account, key, response) {
      const others = listOf(key).filter((other) => !isSameVariant(other, response));
      set(account, key, [response, ...others].slice(0, MOST_VARIANTS));
    },
    replace(account, key, old, response) {
      const list = listOf(key);
      if (list.includes(old)) set(account, key, [response, ...list.filter((other) => other !== old)]);
    },
    remove(account, key, response) {
      const list = listOf(key);
      if (list.includes(response)) {
        set(
          account,
          key,
          list.filter((other) => other !== response),
        );
      }
    },
    removeAll: (key) => kept.delete(key),
    resized(account, key) {
      const list = listOf(key);
      if (list.length > 0) set(account, key, list);
    },
    *sweep(isGone) {
      let left = kept.count;
      for (const key of kept.keys()) {
        const { account, list } = kept.peek(key)!;
        const stay = list.filter((response) => !isGone(response));
        if (stay.length < list.length) set(account, key, stay);
        // What is stored meanwhile, or again, comes to the end.
        if (--left <= 0) return;
        yield;
      }
    },
    octets: () => kept.size,
    count: () => kept.count,
  };
}

function sizeOf(key: string, list: readonly StoredResponse[]): number {
  return list.reduce((sum, response) => sum + octetsOf(response), key.length);
}

function isSameVariant(a: StoredResponse, b: StoredResponse): boolean {
  if (a.always !== b.always || a.selecting.length !== b.selecting.length) return false;
  return a.selecting.every(([name, value], i) => b.selecting[i]![0] === name && b.selecting[i]![1] === value);
}

function octetsOf({ fields, body, representation, forms, always, selecting, item }: StoredResponse): number {
  let octets = OVERHEAD + representation.size + body.length * 64 + forms.octets + always.length + item.url.length;
  for (const name in fields) octets += name.length + String(fields[name]).length;
  for (const [name, value = ''] of selecting) octets += OVERHEAD_OF_TEXT + name.length + value.length;
  for (const tag of item.tags) octets += OVERHEAD_OF_TEXT + tag.length;
  return octets;
}
