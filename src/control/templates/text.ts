/** Templates as YAML. Aliases, own tags, and anything nested deeper than a template are refused: a small file must stay small. Pure. */
import { createRequire } from 'node:module';
import type { Node } from 'yaml';
import type { Template } from './template.js';

export type TextResult =
  | { readonly value: unknown }
  | { readonly fault: { readonly message: string; readonly line: number; readonly column: number } };

/** Octets of a file. */
export const MOST_TEXT_OCTETS = 64 * 1024;
/** A member of the data of a record, which may be a list, is at the sixth level. */
const DEEPEST = 6;
const TOO_DEEP = 'this is deeper than any member of a template';
/** What the parser itself says about a text that is very deep. */
const IS_DEEP = /call stack/;

class TextFault extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

/** Loaded only where there is such a text, because commands have to start at once. */
function yaml(): typeof import('yaml') {
  return createRequire(import.meta.url)('yaml');
}

/** The plain value of a YAML document, of which JSON is a part; or what is wrong with it, and where. */
export function parseText(text: string): TextResult {
  const { LineCounter, parseDocument } = yaml();
  const lines = new LineCounter();
  const options = { schema: 'core', uniqueKeys: true, merge: false, prettyErrors: false, logLevel: 'silent' } as const;
  const document = parseDocument(text, { ...options, lineCounter: lines });
  try {
    const [fault] = [...document.errors, ...document.warnings];
    if (fault) throw new TextFault(IS_DEEP.test(fault.message) ? TOO_DEEP : fault.message, fault.pos[0]);
    return { value: plainOf(document.contents, 1) };
  } catch (error) {
    if (!(error instanceof TextFault)) throw error;
    const { line, col } = lines.linePos(error.at);
    return { fault: { message: error.message, line, column: col } };
  }
}

function plainOf(node: unknown, depth: number): unknown {
  const { isAlias, isMap, isScalar, isSeq } = yaml();
  const at = (node as Node | null)?.range?.[0] ?? 0;
  if (isAlias(node)) throw new TextFault('aliases are not understood here: write out what they stand for', at);
  if (depth > DEEPEST) throw new TextFault(TOO_DEEP, at);
  if (isSeq(node)) return node.items.map((item) => plainOf(item, depth + 1));
  if (isMap(node)) {
    const entries = node.items.map(({ key, value }) => {
      if (!isScalar(key)) throw new TextFault('the name of a member is expected', at);
      return [String(key.value), plainOf(value, depth + 1)] as const;
    });
    return Object.fromEntries(entries);
  }
  return isScalar(node) ? node.value : null;
}

/** What {@link parseText} reads again. */
export function printText({ name, description, variables, records }: Template): string {
  const template = { name, ...(description !== '' && { description }), variables, records };
  return yaml().stringify(template, { lineWidth: 0, aliasDuplicateObjects: false });
}
