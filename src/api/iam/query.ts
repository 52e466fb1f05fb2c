/** The query parameters of lists of groups. */
import { choiceValue, type Query, textValue } from '../query.js';

/** The items with the requested identifier and name. */
export function namedSo<Item extends { readonly id: string; readonly name: string }>(
  query: Query,
  items: readonly Item[],
): Item[] {
  const [id, name] = [textValue(query, 'id'), textValue(query, 'name')];
  return items.filter((item) => (id === undefined || item.id === id) && (name === undefined || item.name === name));
}

/** The items with a text that contains the requested part, in the requested direction. */
export function matching<Item>(
  query: Query,
  items: readonly Item[],
  textOf: (item: Item) => string,
  part: string | undefined,
): Item[] {
  const found = items.filter((item) => part === undefined || textOf(item).toLowerCase().includes(part.toLowerCase()));
  return choiceValue(query, 'direction', ['asc', 'desc']) === 'desc' ? found.reverse() : found;
}
