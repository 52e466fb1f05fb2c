/** URLs that rules make: no value of a request can end the line, or the part of the URL, in which it stands. */
import { spend } from '../expressions/work.js';
import { pathEnd } from './subject.js';

/** Of a target and of a location, as of the targets that the edge takes. */
export const LONGEST_URL = 8192;

/** Everything but printable ASCII, without the space. */
const UNSAFE = /[^\x21-\x7e]+/g;

/** Units of work for each character: to look at it, and to replace it. */
const [LOOKING, REPLACING] = [64, 256];

/** Octets in UTF-8 as percent escapes (RFC 3986 §2.5). What is too long for a URL stays as it is: it is not used. */
function escaped(text: string): string {
  if (text.length > LONGEST_URL) return text;
  spend(text.length * LOOKING);
  if (text.search(UNSAFE) < 0) return text;
  spend(text.length * REPLACING);
  return text.replace(UNSAFE, (part) => {
    let escapes = '';
    for (const octet of Buffer.from(part, 'utf8')) escapes += `%${octet.toString(16).toUpperCase().padStart(2, '0')}`;
    return escapes;
  });
}

/** A path for a request; undefined for what cannot be one. One that is longer than {@link LONGEST_URL} is not made safe. */
export function safePath(text: string): string | undefined {
  if (!text.startsWith('/')) return undefined;
  if (text.length > LONGEST_URL) return text;
  return escaped(text).replaceAll('?', '%3F').replaceAll('#', '%23');
}

/** As {@link safePath}. */
export function safeQuery(text: string): string {
  if (text.length > LONGEST_URL) return text;
  return escaped(text).replaceAll('#', '%23');
}

/**
 * Where a redirect may lead: to HTTP, or to a path of the same host; never to `javascript:`. Undefined for anything else. A path that
 * begins with two slashes, which a client can ask for, would lead to another host.
 */
export function safeLocation(text: string): string | undefined {
  // Before it is looked at: a template can make megabytes of a short pattern.
  if (text.length > LONGEST_URL) return undefined;
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
