/** Texts that others chose, such as keys of objects and comments. */

/** Control characters, and those that change the direction or have no width: with them a text looks like another one (UTS #36 §3). */
const UNSEEN = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** The text with characters that cannot be seen as their numbers: `\u{202e}`. */
export function visible(text: string): string {
  return text.replaceAll(UNSEEN, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}
