/**
 * Filters by tags, however many: one function decides about a row. A condition in SQL for each filter would read the list of tags
 * once for each.
 */
import type { Condition, TextOperator } from '../condition.js';
import { perStore } from '../driver.js';

export interface TagTest {
  readonly operator: TextOperator | 'present' | 'absent';
  /** In any case. */
  readonly name: string;
  /** What a text operator compares, in any case. */
  readonly value?: string | undefined;
}

interface TagFilter {
  readonly match: 'all' | 'any';
  readonly tests: readonly TagTest[];
}

/** Rows often have the tags of others; so many different ones are remembered. */
const REMEMBERED = 1000;

/** Registers the function that {@link matchTags} uses, once for each handle. */
export const defineTagFunction = perStore((store) => {
  let lastFilter = '';
  let decide: (tags: string | null) => boolean = () => true;
  store.defineFunction('tags_match', (tags, filter) => {
    if (filter !== lastFilter) {
      decide = decideBy(JSON.parse(String(filter)) as TagFilter);
      lastFilter = String(filter);
    }
    return decide(tags as string | null) ? 1 : 0;
  });
  return true;
});

/** Matches records by their tags. */
export function matchTags(match: 'all' | 'any', tests: readonly TagTest[]): Condition {
  const folded = tests.map(({ operator, name, value = '' }) => {
    return { operator, name: name.toLowerCase(), value: value.toLowerCase() };
  });
  const filter: TagFilter = { match, tests: folded };
  return { sql: 'tags_match(tags, ?)', params: [JSON.stringify(filter)] };
}

function decideBy({ match, tests }: TagFilter): (tags: string | null) => boolean {
  const known = new Map<string | null, boolean>();
  return (tags) => {
    let matches = known.get(tags);
    if (matches === undefined) {
      const values = valuesByName(tags);
      const passes = (test: TagTest): boolean => isPassed(test, values.get(test.name));
      matches = match === 'all' ? tests.every(passes) : tests.some(passes);
      if (known.size < REMEMBERED) known.set(tags, matches);
    }
    return matches;
  };
}

/** A tag without a colon has the empty value. A record has one tag of a name (control/rules/tags.ts). */
function valuesByName(tags: string | null): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  if (tags === null) return values;
  for (const tag of JSON.parse(tags) as string[]) {
    const colon = tag.indexOf(':');
    const name = colon < 0 ? tag : tag.slice(0, colon);
    values.set(name.toLowerCase(), colon < 0 ? '' : tag.slice(colon + 1).toLowerCase());
  }
  return values;
}

function isPassed({ operator, value = '' }: TagTest, found: string | undefined): boolean {
  if (operator === 'absent' || found === undefined) return (operator === 'absent') === (found === undefined);
  switch (operator) {
    case 'present':
      return true;
    case 'exact':
      return found === value;
    case 'contains':
      return found.includes(value);
    case 'startswith':
      return found.startsWith(value);
    case 'endswith':
      return found.endsWith(value);
  }
}
