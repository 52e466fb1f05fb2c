/**
 * Object keys in the targets of the bucket application: the path of the URL as WHATWG reads it, without its first slash. Dot
 * segments are gone then, in whatever spelling; other percent escapes stay as they are.
 */

/** Undefined for a target that is no URL. */
export function keyOfTarget(target: string): string | undefined {
  try {
    const url = new URL(target.startsWith('/') ? `http://objects.invalid${target}` : target);
    return url.pathname.slice(1);
  } catch {
    return undefined;
  }
}

/** Entries of an allow-list as the keys they stand for: `my pic.jpg` is what `/my%20pic.jpg` asks for. */
export function allowedKeys(entries: readonly string[]): ReadonlySet<string> {
  const keys = entries.map((entry) => keyOfTarget(`/${entry.replaceAll('?', '%3F').replaceAll('#', '%23')}`));
  return new Set(keys.filter((key) => key !== undefined));
}
