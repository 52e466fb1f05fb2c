/** Makes the generated document say what is meant, and nothing that means nothing. */
import type { Described } from './examples.js';

/**
 * Without the bounds that Zod gives every integer, which are those of what JavaScript can count, and without choices of
 * one.
 */
export function simplified(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(simplified);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(
    ([name, member]) =>
      !(name === 'minimum' && member === Number.MIN_SAFE_INTEGER) &&
      !(name === 'maximum' && member === Number.MAX_SAFE_INTEGER),
  );
  const kept = Object.fromEntries(members.map(([name, member]) => [name, simplified(member)]));
  const { anyOf, ...rest } = kept;
  if (!Array.isArray(anyOf) || anyOf.length !== 1) return kept;
  return { ...(anyOf[0] as object), ...rest };
}

/** Operations outside the envelope, such as `/livez`, refuse requests as well: malformed ones, and other methods. */
export function addRefusals({ paths = {} }: Described): void {
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path))) {
    const { responses } = operation;
    if (!responses || Object.keys(responses).some((status) => status.startsWith('4'))) continue;
    responses['4XX'] = { description: 'The request is refused' };
  }
}

/** Responses that are a text or octets are of another type than JSON, which is what every response has otherwise. */
export function setMediaTypes({ paths = {} }: Described): void {
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path))) {
    for (const { content } of Object.values(operation.responses ?? {})) {
      const { 'application/json': media, ...others } = content ?? {};
      if (!content || media?.schema?.type !== 'string') continue;
      const { contentMediaType, format } = media.schema;
      const type = contentMediaType ?? (format === 'binary' ? 'application/octet-stream' : 'text/plain');
      delete content['application/json'];
      Object.assign(content, { ...others, [type]: media });
    }
  }
}

/** Removes schemas that no operation leads to: each exists for requests and for answers. */
export function removeUnused({ paths = {}, components = {} }: Described): void {
  const { schemas = {} } = components;
  const used = new Set<string>();
  const visit = (value: unknown): void => {
    for (const [, name] of JSON.stringify(value ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name!)) continue;
      used.add(name!);
      visit(schemas[name!]);
    }
  };
  visit(paths);
  for (const name of Object.keys(schemas)) if (!used.has(name)) delete (schemas as Record<string, unknown>)[name];
}
