/** Keys of objects in addresses. A key may be any text, also one that looks like a path upwards. */
import { visible } from '../../parts/visible.js';

const isDots = (part: string): boolean => part === '.' || part === '..';

/**
 * A key in a path. Its slashes stay, unless a part is one or two dots: browsers follow those before they send anything, so that
 * the request would be about another object, or another bucket. Then the key is one part of the path.
 */
export function pathOfKey(key: string): string {
  const parts = key.split('/');
  return parts.map(encodeURIComponent).join(parts.some(isDots) ? '%2F' : '/');
}

/** Whether a browser can ask for the object: not for `.` and `..`, in whatever form. */
export function isReachable(key: string): boolean {
  return !isDots(key);
}

/** A key, or a part of one, for people: spaces at its ends are seen, too. */
export function shownKey(key: string): string {
  return visible(key).replace(/^ +| +$/g, (spaces) => '\u2423'.repeat(spaces.length));
}
