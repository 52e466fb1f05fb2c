/** Turns the query of a record list into the use case's form (v4: §5.5). */
import type { CommentFilter, RecordQuery, TextFilter } from '../../control/records/records.js';
import { typeByMnemonic } from '../../dns/rr/registry.js';
import type { TagTest } from '../../store/records/query.js';
import { failure } from '../errors.js';
import { choiceValue, flagValue, isPresent, listValues, type Query, switchValue, textValue } from '../query.js';
import { RECORD_ORDERS } from './schema.js';

/** A record has 20 tags at most. */
const MOST_TAG_FILTERS = 100;
const TAG_OPERATORS = ['exact', 'contains', 'startswith', 'endswith', 'present', 'absent'] as const;

export function recordFilter(query: Query): RecordQuery {
  const name = textFilter(query, 'name');
  const content = textFilter(query, 'content');
  const comment = commentFilter(query);
  const types = listValues(query, 'type');
  if (types.some((type) => !typeByMnemonic(type.trim()))) {
    throw failure('badParameter', { name: 'type', expected: 'types of records, such as A or MX' });
  }
  const proxied = flagValue(query, 'proxied');
  const tags = tagFilters(query);
  const match = choiceValue(query, 'match', ['all', 'any']);
  const tagMatch = choiceValue(query, 'tag_match', ['all', 'any']);
  const search = textValue(query, 'search');
  const order = choiceValue(query, 'order', RECORD_ORDERS);
  const direction = choiceValue(query, 'direction', ['asc', 'desc']);
  const withShadow = switchValue(query, 'include_shadow_metadata');
  const shadowedByName = textValue(query, 'shadowed_by_name');
  const shadowingName = textValue(query, 'shadowing_name');
  return {
    ...(name === undefined ? {} : { name }),
    ...(content === undefined ? {} : { content }),
    ...(comment === undefined ? {} : { comment }),
    ...(types.length === 0 ? {} : { types }),
    ...(proxied === undefined ? {} : { proxied }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(isPresent(query, 'expires_on.present') ? { ending: true } : {}),
    ...(match === undefined ? {} : { match }),
    ...(tagMatch === undefined ? {} : { tagMatch }),
    ...(search === undefined ? {} : { search }),
    ...(order === undefined ? {} : { order }),
    ...(direction === undefined ? {} : { direction }),
    ...(withShadow === undefined ? {} : { withShadow }),
    ...(shadowedByName === undefined ? {} : { shadowedByName }),
    ...(shadowingName === undefined ? {} : { shadowingName }),
  };
}

/** `name=x` is short for `name.exact=x`. */
function textFilter(query: Query, name: string): TextFilter | undefined {
  const exact = textValue(query, name) ?? textValue(query, `${name}.exact`);
  const contains = textValue(query, `${name}.contains`);
  const startswith = textValue(query, `${name}.startswith`);
  const endswith = textValue(query, `${name}.endswith`);
  const filter = {
    ...(exact === undefined ? {} : { exact }),
    ...(contains === undefined ? {} : { contains }),
    ...(startswith === undefined ? {} : { startswith }),
    ...(endswith === undefined ? {} : { endswith }),
  };
  return Object.keys(filter).length === 0 ? undefined : filter;
}

/** `comment.present` and `comment.absent` depend on the key alone. */
function commentFilter(query: Query): CommentFilter | undefined {
  const filter = {
    ...textFilter(query, 'comment'),
    ...(isPresent(query, 'comment.present') ? { present: true } : {}),
    ...(isPresent(query, 'comment.absent') ? { absent: true } : {}),
  };
  return Object.keys(filter).length === 0 ? undefined : filter;
}

function tagFilters(query: Query): TagTest[] {
  const plain = values(query, 'tag').map((text) => tagFilter(text.includes(':') ? 'exact' : 'present', text));
  const named = TAG_OPERATORS.flatMap((operator) =>
    values(query, `tag.${operator}`).map((text) => tagFilter(operator, text)),
  );
  const filters = [...plain, ...named];
  if (filters.length > MOST_TAG_FILTERS) {
    throw failure('badParameter', { name: 'tag', expected: `at most ${MOST_TAG_FILTERS} tag filters` });
  }
  return filters;
}

/** All values of a parameter unchanged, because tags may contain commas. */
function values(query: Query, name: string): readonly string[] {
  return (query[name] ?? []).filter((text) => text !== '');
}

function tagFilter(operator: TagTest['operator'], text: string): TagTest {
  if (operator === 'present' || operator === 'absent') return { operator, name: text };
  const colon = text.indexOf(':');
  return colon < 0
    ? { operator, name: text, value: '' }
    : { operator, name: text.slice(0, colon), value: text.slice(colon + 1) };
}
