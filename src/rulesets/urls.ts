/** What rules make of URLs: no value of a request can end the line, or the part of the URL, in which it stands. */
import { pathEnd } from './subject.js';

/** Of a target and of a location, as of the targets that the edge takes. */
export const LONGEST_URL = 8192;

/** Everything but printable ASCII, without the space. */
const UNSAFE = /[^\x21-\x7e]+/g;

/** Octets in UTF-8 as percent escapes (RFC 3986 §2.5). */
function escaped(text: string): string {
  return text.replace(UNSAFE, (part) => {
    let escapes = '';
    for (const octet of Buffer.from(part, 'utf8')) escapes += `%${octet.toString(16).toUpperCase().padStart(2, '0')}`;
    return escapes;
  });
}

/** A path for a request; undefined for what is none. */
export function safePath(text: string): string | undefined {
  if (!text.startsWith('/')) return undefined;
  return escaped(text).replaceAll('?', '%3F').replaceAll('#', '%23');
}

export function safeQuery(text: string): string {
  return escaped(text).replaceAll('#', '%23');
}

/**
 * Where a redirect may lead: to HTTP, or to a path of the same host; never to `javascript:`. Undefined for anything else. A path that
 * begins with two slashes, which a client can ask for, would lead to another host.
 */
export function safeLocation(text: string): string | undefined {
  const location = escaped(text).replace(/^[/\\]{2,}/, '/');
  if (location.length > LONGEST_URL || !/^(?:https?:\/\/[^/?#\\]|\/)/i.test(location)) return undefined;
  return location;
}

/** The query of the request, if the location has none of its own. */
export function withQuery(location: string, target: string): string {
  const query = target.slice(pathEnd(target));
  if (query.length < 2 || location.includes('?')) return location;
  const fragment = location.indexOf('#');
  return fragment < 0 ? `${location}${query}` : `${location.slice(0, fragment)}${query}${location.slice(fragment)}`;
}
