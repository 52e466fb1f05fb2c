/** The object that a public URL names. Pure. */
import { isObjectKey } from '../../bucket/object-store.js';

/**
 * The path without its first slash, with its percent-escapes decoded; undefined for a path that names no key: its escapes are
 * not UTF-8, or it is too long. `target`: path and query.
 */
export function keyOfTarget(target: string): string | undefined {
  const query = target.indexOf('?');
  const path = query < 0 ? target : target.slice(0, query);
  try {
    const key = decodeURIComponent(path.slice(1));
    return isObjectKey(key) ? key : undefined;
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
