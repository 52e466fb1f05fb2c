/** The order of names as people count: h1, h2, h10. */
import type { ResultInfo } from '../types.js';
import { once } from './once.js';

const collator = once(() => new Intl.Collator('en', { numeric: true }));

/** Texts as they are read. */
export function compareTexts(a: string, b: string): number {
  return collator().compare(a, b);
}

/** Names of records, label by label from the end: what is below a name stands behind it. */
export function compareNames(a: string, b: string): number {
  const [x, y] = [a.split('.').reverse(), b.split('.').reverse()];
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const difference = compareTexts(x[i]!, y[i]!);
    if (difference !== 0) return difference;
  }
  return x.length - y.length;
}

interface NaturalSort {
  readonly order: string;
  readonly direction: 'asc' | 'desc';
}

/**
 * The items of a list that is sorted by names. The server sorts octet by octet, and so do the pages follow one another: only a list
 * of one page is sorted anew.
 */
export function inNaturalOrder<Item extends { readonly name: string }>(
  items: readonly Item[],
  info: ResultInfo | undefined,
  { order, direction }: NaturalSort,
  compare: (a: string, b: string) => number,
): readonly Item[] {
  if (order !== 'name' || (info?.total_pages ?? 1) > 1) return items;
  const sign = direction === 'desc' ? -1 : 1;
  return items.toSorted((a, b) => sign * compare(a.name, b.name));
}
