/**
 * Object keys in the targets of the bucket application: the path of the URL as WHATWG parses it, without its first
 * slash. That removes dot segments in any spelling; other percent escapes stay unchanged.
 */

/** Paths that WHATWG leaves as they are. */
const UNCHANGED = /^(?:\/(?:[\w-][\w.-]*)?)+$/;

/** Undefined for a target that is not a URL. */
export function keyOfTarget(target: string): string | undefined {
  if (UNCHANGED.test(target)) return target.slice(1);
  try {
    const url = new URL(target.startsWith('/') ? `http://objects.invalid${target}` : target);
    return url.pathname.slice(1);
  } catch {
    return undefined;
  }
}

/** Entries of an allow-list as keys: `my pic.jpg` is the key for `/my%20pic.jpg`. */
export function allowedKeys(entries: readonly string[]): ReadonlySet<string> {
  const keys = entries.map((entry) => keyOfTarget(`/${entry.replaceAll('?', '%3F').replaceAll('#', '%23')}`));
  return new Set(keys.filter((key) => key !== undefined));
}
