/** named.conf as statements: words and blocks that end with a semicolon, with all three kinds of comments. */
import type { ConfigurationFiles, OpenedFile } from '../files.js';
import { faultAt, type Place } from '../place.js';

export interface Word {
  readonly text: string;
  readonly isQuoted: boolean;
  readonly place: Place;
}

export interface Block {
  readonly statements: readonly Clause[];
  readonly place: Place;
}

export interface Clause {
  readonly parts: readonly (Word | Block)[];
  readonly place: Place;
}

const MOST_DEPTH = 32;
const MOST_STATEMENTS = 5_000_000;
const SPECIAL = new Set(['{', '}', ';']);

export const isWord = (part: Word | Block | undefined): part is Word => part !== undefined && 'text' in part;
export const isBlock = (part: Word | Block | undefined): part is Block => part !== undefined && 'statements' in part;

/** The first word, lower case; empty for a statement that begins with a block. */
export function nameOf({ parts: [first] }: Clause): string {
  return isWord(first) ? first.text.toLowerCase() : '';
}

/** The words behind the first, up to a block. */
export function wordsOf({ parts }: Clause): Word[] {
  const words: Word[] = [];
  for (const part of parts.slice(1)) {
    if (!isWord(part)) break;
    words.push(part);
  }
  return words;
}

export function blockOf({ parts }: Clause): Block | undefined {
  return parts.find(isBlock);
}

/** All statements of a configuration, those of included files in their place. Throws a UserError that names file and line. */
export function readClauses(files: ConfigurationFiles): Clause[] {
  const reading = { files, directory: undefined as string | undefined, count: 0 };
  return files.readMain((opened) => readFile(reading, opened, 0));
}

interface Reading {
  readonly files: ConfigurationFiles;
  /** The working directory, as soon as `directory` has said it. */
  directory: string | undefined;
  count: number;
}

type Token = Word & { readonly isSpecial: boolean };

function readFile(reading: Reading, { file, text }: OpenedFile, depth: number): Clause[] {
  const tokens = tokensOf(file, text);
  const statements: Clause[] = [];
  for (let token = tokens.next(); !token.done; token = tokens.next()) {
    if (token.value.isSpecial && token.value.text === '}') throw faultAt(token.value.place, "a '}' closes nothing");
    readStatement(reading, tokens, token.value, depth, statements);
  }
  return statements;
}

/** Reads the statement that begins with `first` into the list; an `include` gives those of its file. */
function readStatement(reading: Reading, tokens: Iterator<Token>, first: Token, depth: number, into: Clause[]): void {
  if (first.isSpecial && first.text === ';') throw faultAt(first.place, "this ';' ends no statement");
  if (++reading.count > MOST_STATEMENTS)
    throw faultAt(first.place, `there are more than ${MOST_STATEMENTS} statements`);
  const parts: (Word | Block)[] = [];
  let token = first;
  for (;;) {
    if (!token.isSpecial) parts.push(token);
    else if (token.text === '{') parts.push(readBlock(reading, tokens, token.place, depth + 1));
    else if (token.text === ';') break;
    else throw faultAt(token.place, "a ';' is missing before '}'");
    const next = tokens.next();
    if (next.done) throw faultAt(first.place, "the statement has no ';' at its end");
    token = next.value;
  }
  const statement = { parts, place: first.place };
  const name = nameOf(statement);
  if (name === 'include') include(reading, statement, depth, into);
  else {
    if (name === 'directory' && depth === 1) {
      const [path] = wordsOf(statement);
      if (path) reading.directory = reading.files.locate(path.text, reading.directory);
    }
    into.push(statement);
  }
}

function readBlock(reading: Reading, tokens: Iterator<Token>, place: Place, depth: number): Block {
  if (depth > MOST_DEPTH) throw faultAt(place, `blocks are nested more than ${MOST_DEPTH} deep`);
  const statements: Clause[] = [];
  for (let token = tokens.next(); !token.done; token = tokens.next()) {
    if (token.value.isSpecial && token.value.text === '}') return { statements, place };
    readStatement(reading, tokens, token.value, depth, statements);
  }
  throw faultAt(place, "the '{' has no '}'");
}

/** As named does, a relative path begins at `directory` once that is known. */
function include(reading: Reading, statement: Clause, depth: number, into: Clause[]): void {
  const [path, ...more] = wordsOf(statement);
  if (!path || more.length > 0) throw faultAt(statement.place, 'include takes the name of one file');
  reading.files.include(reading.files.locate(path.text, reading.directory), statement.place, (opened) => {
    for (const included of readFile(reading, opened, depth)) into.push(included);
  });
}

function* tokensOf(file: string, text: string): Generator<Token, void> {
  let at = 0;
  let line = 1;
  const here = (): Place => ({ file, line });
  while (at < text.length) {
    const char = text[at]!;
    const comment = commentEnd(text, at, here);
    if (comment !== undefined) {
      line += newlines(text, at, comment);
      at = comment;
    } else if (char === '\n') {
      line++;
      at++;
    } else if (isSpace(char)) at++;
    else if (SPECIAL.has(char)) {
      yield { text: char, isQuoted: false, isSpecial: true, place: here() };
      at++;
    } else if (char === '"') {
      const end = quoteEnd(text, at, here);
      // BIND takes the backslash away before a quote only.
      yield { text: text.slice(at + 1, end).replaceAll('\\"', '"'), isQuoted: true, isSpecial: false, place: here() };
      line += newlines(text, at, end);
      at = end + 1;
    } else {
      const end = wordEnd(text, at);
      yield { text: text.slice(at, end), isQuoted: false, isSpecial: false, place: here() };
      at = end;
    }
  }
}

const isSpace = (char: string): boolean => char === ' ' || char === '\t' || char === '\r' || char === '\f';

/** Where a comment that begins here ends; undefined: none begins here. */
function commentEnd(text: string, at: number, here: () => Place): number | undefined {
  const isLine = text[at] === '#' || text.startsWith('//', at);
  if (isLine) {
    const end = text.indexOf('\n', at);
    return end === -1 ? text.length : end;
  }
  if (!text.startsWith('/*', at)) return undefined;
  const end = text.indexOf('*/', at + 2);
  if (end === -1) throw faultAt(here(), "the comment has no '*/' at its end");
  return end + 2;
}

function quoteEnd(text: string, at: number, here: () => Place): number {
  for (let end = at + 1; end < text.length; end++) {
    if (text[end] === '\\') end++;
    else if (text[end] === '"') return end;
  }
  throw faultAt(here(), 'the quoted text has no end');
}

function wordEnd(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at++) {
    const char = text[at]!;
    if (char === '\n' || isSpace(char) || SPECIAL.has(char) || char === '"' || char === '#') break;
    if (char === '/' && (text[at + 1] === '/' || text[at + 1] === '*')) break;
  }
  return at;
}

function newlines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count++;
  return count;
}
