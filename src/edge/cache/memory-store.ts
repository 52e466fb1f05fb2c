/** Stored responses in memory. Beyond a limit in octets, the least recently used ones are removed. */
import { LRUCache } from 'lru-cache';
import type { HeaderFields } from '../../http/fields.js';
import { answers, type StoredResponse } from './stored-response.js';

export interface MemoryStore {
  /** The newest stored response that fits the request. */
  find(key: string, request: HeaderFields, always: string): StoredResponse | undefined;
  has(key: string): boolean;
  put(key: string, response: StoredResponse): void;
  /** Replaces one response by another, unless the first one has already been removed. */
  replace(key: string, old: StoredResponse, response: StoredResponse): void;
  remove(key: string, response: StoredResponse): void;
  removeAll(key: string): void;
  /** Removes all responses for which `isGone` is true. */
  sweep(isGone: (response: StoredResponse) => boolean): void;
  octets(): number;
  count(): number;
}

/** Stored responses of one key. */
const MOST_VARIANTS = 64;
/** Approximate octets that a stored response needs in addition to its body and fields. */
const OVERHEAD = 1024;

export function createMemoryStore(maxOctets: number): MemoryStore {
  const variants = new LRUCache<string, readonly StoredResponse[]>({
    maxSize: maxOctets,
    sizeCalculation: (list, key) => list.reduce((sum, response) => sum + octetsOf(response), key.length),
  });

  function set(key: string, list: readonly StoredResponse[]): void {
    if (list.length === 0) variants.delete(key);
    else variants.set(key, list);
  }

  return {
    find: (key, request, always) => variants.get(key)?.find((response) => answers(response, request, always)),
    has: (key) => variants.has(key),
    put(key, response) {
      const others = (variants.peek(key) ?? []).filter((other) => !isSameVariant(other, response));
      set(key, [response, ...others].slice(0, MOST_VARIANTS));
    },
    replace(key, old, response) {
      const list = variants.peek(key) ?? [];
      if (list.includes(old)) set(key, [response, ...list.filter((other) => other !== old)]);
    },
    remove(key, response) {
      const list = variants.peek(key);
      if (list?.includes(response))
        set(
          key,
          list.filter((other) => other !== response),
        );
    },
    removeAll: (key) => variants.delete(key),
    sweep(isGone) {
      for (const [key, list] of [...variants.entries()]) {
        const kept = list.filter((response) => !isGone(response));
        if (kept.length < list.length) set(key, kept);
      }
    },
    octets: () => variants.calculatedSize,
    count: () => variants.size,
  };
}

function isSameVariant(a: StoredResponse, b: StoredResponse): boolean {
  if (a.always !== b.always || a.selecting.length !== b.selecting.length) return false;
  return a.selecting.every(([name, value], i) => b.selecting[i]![0] === name && b.selecting[i]![1] === value);
}

function octetsOf({ fields, body, representation }: StoredResponse): number {
  let octets = OVERHEAD + representation.size + body.length * 64;
  for (const name in fields) octets += name.length + String(fields[name]).length;
  return octets;
}
