/** What is wrong with a record that says a policy, in words. */

/** One thing that is wrong, and the sentence that says what to change. */
export interface PolicyFault {
  /** The reason, as a program knows it. */
  readonly code: string;
  /** A clause without a full stop. */
  readonly text: string;
  /** A whole sentence. */
  readonly remedy: string;
}

/** The most faults of one record that are reported. */
export const MOST_FAULTS = 5;
/** The most octets of a text that is read; nothing that receivers accept comes near. */
export const LONGEST_TEXT = 8192;

const LONGEST_QUOTE = 60;

/** A part of a record inside a sentence: short, on one line, in ASCII. */
export function quoted(text: string): string {
  const short = text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}…` : text;
  return `“${short.replace(/[^\x20-\x7e…]/g, '?')}”`;
}

/** A text without these characters at its ends, in a time that grows with its length only, unlike a regular expression's. */
export function trimBlanks(text: string, blanks: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && blanks.includes(text[from]!)) from++;
  while (to > from && blanks.includes(text[to - 1]!)) to--;
  return text.slice(from, to);
}

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i;

/** Whether a text is the full name of a host or domain; a dot may end it. A number is not a top-level domain. */
export function isDomain(text: string): boolean {
  const labels = text.replace(/\.$/, '').split('.');
  return (
    text.length <= 254 &&
    labels.length > 1 &&
    labels.every((label) => LABEL.test(label)) &&
    !/^\d+$/.test(labels.at(-1)!)
  );
}
