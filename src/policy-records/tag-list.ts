/** Lists of `tag=value;` (RFC 6376 §3.2), which DKIM, DMARC, MTA-STS, TLS-RPT and BIMI share. */
import { type PolicyFault, quoted, trimBlanks } from './fault.js';

export interface TagList {
  /** The first tag, with its value. */
  readonly first: string;
  readonly tags: ReadonlyMap<string, string>;
}

const TAG = /^([a-z][a-z0-9_]*)[ \t]*=[ \t]*(.*)$/is;

/** Values lose the blanks around them. `what`: as the record is called in a sentence. */
export function readTags(text: string, what: string, code: string): TagList | PolicyFault {
  const tags = new Map<string, string>();
  const parts = text.split(';').map((part) => trimBlanks(part, ' \t\r\n'));
  if (parts.at(-1) === '') parts.pop();
  for (const part of parts) {
    const [, tag, value] = TAG.exec(part) ?? [];
    if (tag === undefined || value === undefined) {
      return {
        code,
        text:
          part === ''
            ? `${what} has an empty part between two semicolons`
            : `${what} has ${quoted(part)}, which is not tag=value`,
        remedy: 'Write tag=value, with a semicolon between two of them.',
      };
    }
    if (tags.has(tag)) {
      return {
        code,
        text: `${what} has the tag ${tag} twice, so receivers ignore it`,
        remedy: `Keep only one ${tag}=.`,
      };
    }
    tags.set(tag, value);
  }
  return { first: parts[0] ?? '', tags };
}

/**
 * A fault that happens while a text is copied: quotes or backslashes that were meant for a zone file, or blanks before the
 * beginning.
 */
export function copyFault(text: string, what: string, code: string): PolicyFault | undefined {
  if (/^["'“”]/.test(text) || /^[ -~]*\\[;"]/.test(text)) {
    return {
      code,
      text: `${what} holds quotes or backslashes that were meant for a zone file`,
      remedy: 'Remove the quotes around the text and the backslashes in it.',
    };
  }
  if (/^\s/.test(text))
    return { code, text: `${what} begins with a blank`, remedy: 'Remove the blank at its beginning.' };
  return undefined;
}
