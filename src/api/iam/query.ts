/** What lists of groups are asked for. */
import { choiceValue, type Query, textValue } from '../query.js';

/** Those with the identifier and the name that are asked for. */
export function namedSo<Item extends { readonly id: string; readonly name: string }>(
  query: Query,
  items: readonly Item[],
): Item[] {
  const [id, name] = [textValue(query, 'id'), textValue(query, 'name')];
  return items.filter((item) => (id === undefined || item.id === id) && (name === undefined || item.name === name));
}

/** Those of which a text contains a part, in the direction that is asked for. */
export function matching<Item>(
  query: Query,
  items: readonly Item[],
  textOf: (item: Item) => string,
  part: string | undefined,
): Item[] {
  const found = items.filter((item) => part === undefined || textOf(item).toLowerCase().includes(part.toLowerCase()));
  return choiceValue(query, 'direction', ['asc', 'desc']) === 'desc' ? found.reverse() : found;
}
