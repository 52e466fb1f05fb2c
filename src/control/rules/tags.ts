/** Tags and comments of records (v4: §5.8). Pure. */

const NAME = /^[A-Za-z0-9_-]{1,32}$/;
const LONGEST_VALUE = 100;
const LINE_BREAK = /[\r\n]/;

export type TagsResult = { readonly tags: readonly string[] } | { readonly tag: string; readonly reason: string };

/** The part of a tag before its first colon. */
function tagName(tag: string): string {
  const colon = tag.indexOf(':');
  return colon < 0 ? tag : tag.slice(0, colon);
}

/** Tags for storage: one for each name (case ignored, the last one wins), in the order of first appearance. */
export function readTags(input: readonly string[]): TagsResult {
  const byName = new Map<string, string>();
  for (const text of input) {
    const name = tagName(text.trim());
    const value = text.trim().slice(name.length + 1);
    const reason = faultOf(name, value);
    if (reason) return { tag: text.slice(0, 60), reason };
    byName.set(name.toLowerCase(), text.trim());
  }
  return { tags: [...byName.values()] };
}

function faultOf(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return 'its name must be 1 to 32 letters, digits, hyphens or underscores';
  if ([...value].length > LONGEST_VALUE) return `its value is longer than ${LONGEST_VALUE} characters`;
  return LINE_BREAK.test(value) ? 'its value must not contain line breaks' : undefined;
}

/** Number of Unicode code points in a comment (v4: §18 no. 20). */
export function commentLength(comment: string): number {
  return [...comment].length;
}

export function hasLineBreak(text: string): boolean {
  return LINE_BREAK.test(text);
}
